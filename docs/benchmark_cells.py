"""Cells of the tables of benchmark results: labels and numbers with errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "NMT_TABLES",
    "STAGES_PUBLISHED",
    "TEXT_PUBLISHED",
    "TRADEOFF_PUBLISHED",
    "Table",
    "label",
    "number",
    "pair",
]

# Displayed names of methods, tasks and data sets, by their names in the files.
LABELS = {
    "optuna-tpe": "Optuna TPE",
    "optuna_tpe": "Optuna TPE",
    "optuna-gp": "Optuna GP",
    "optuna_gp": "Optuna GP",
    "optuna": "Optuna, pruned",
    "skopt": "scikit-optimize",
    "hypertune": "HyperTune",
    "ei-bo": "EI-BO",
    "hyperband": "Hyperband",
    "fabolas-like": "Fabolas stand-in",
    "graph": "graph, EI",
    "graph+eif": "graph, expected influence",
    "bo_paper_m": "GP of the paper, Matérn",
    "bo_paper_r": "GP of the paper, RBF",
    "subset": "30 % of the rows",
    "full": "all rows",
    "stages": "multi-stage",
    "stages-40": "multi-stage, 40 % of the trials on 30 % of the rows",
    "stages-own": "multi-stage, separate surrogates",
    "halving": "halving",
    "ei-tradeoff": "TradeoffSearchCV",
    "all": "TradeoffSearchCV, all_tradeoffs=True",
    "paper": "published acquisition",
    "sst": "SST-2",
    "amazon": "Amazon electronics",
    "congress": "Congress",
    "science": "20N science",
    "religion": "20N religion",
    "graphics": "20N graphics",
    "20n": "20 Newsgroups",
    "imdb": "IMDB",
    "yelp": "Yelp",
    "wikiqa": "WikiQA",
    "adult": "Adult",
    "letter": "Letter",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "histgb": "HistGradientBoosting",
}

# Yogatama & Smith (2015), test accuracy in %.
TEXT_PUBLISHED = {
    "sst": 82.43,
    "amazon": 91.56,
    "imdb": 90.85,
    "congress": 78.59,
    "20n": 87.84,
    "science": 95.82,
    "religion": 86.32,
    "graphics": 92.09,
}

# Language pairs of Zhang & Duh (2020).
NMT_TABLES = ("zh-en", "ru-en", "ja-en", "en-ja", "sw-en", "so-en")

# Wang et al. (2015): score and minutes per iteration, on their QA set and on Yelp.
STAGES_PUBLISHED = [
    ["30 % of the rows", ".633", "3.2", ".530", "0.4"],
    ["all rows", ".639", "7.8", ".543", "1.2"],
    ["multi-stage", ".641", "6.0", ".542", "0.6"],
]

# Wang et al.: accuracy and minutes to train the selected model.
TRADEOFF_PUBLISHED = [
    ["all rows", ".54", "12", ".84", "4.0"],
    ["30 % of the rows", ".38", "5.2", ".78", "1.9"],
    ["tradeoff", ".51", "6.7", ".81", "2.3"],
]


class Table(NamedTuple):
    """Table of strings: a caption, the names of the columns, and the rows."""

    caption: str
    header: list[str]
    rows: list[list[str]]


# -- cells ----------------------------------------------------------------------------


def label(name: str) -> str:
    return LABELS.get(name, name)


def number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    if value is None or value != value:
        return ""
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text.replace("-", "−")


def pair(
    figures: Sequence[float | None] | None, digits: int = 3, sign: bool = False
) -> str:
    """Return mean ± standard error, or only the mean if there is one run."""
    if not figures or figures[0] is None:
        return ""
    mean, error = figures
    text = number(mean, digits, sign)
    return text if error is None else f"{text} ± {number(error, digits)}"
