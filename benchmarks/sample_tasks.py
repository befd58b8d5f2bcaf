"""Tasks for searches on subsets: texts, answers to questions, and two tables.

The data are in the folder given by --data (see its README). The processed data are
cached in the system's temporary folder.
"""

from __future__ import annotations

import importlib.util
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from common import HERE

__all__ = ["DATA", "TASKS", "Task", "load_task"]

DATA = HERE.parent.parent / "shared" / "data"

# Hyper-parameters that are tuned in the papers.
LINEAR_SPACE = {
    "solver": ["L2R_L2LOSS_SVC_DUAL", "L2R_L1LOSS_SVC_DUAL", "L1R_L2LOSS_SVC"],
    "C": (1e-3, 1e2, "log-uniform"),
    "intercept_scaling": (1e-2, 1e1, "log-uniform"),
}
TREES_SPACE = {
    "colsample_bytree": (0.1, 1.0),
    "subsample": (0.1, 1.0),
    "learning_rate": (0.01, 0.5, "log-uniform"),
    "n_estimators": (10, 200, "log-uniform"),
    "num_leaves": (4, 64, "log-uniform"),
    "min_child_samples": (1, 100, "log-uniform"),
}
N_ADULT_DEV, N_LETTER_DEV, N_IMDB_DEV = 6_000, 3_000, 5_000
TASKS = ("yelp", "imdb", "wikiqa", "adult", "letter")


@dataclass
class Task:
    """Inputs of a search, and its test data."""

    estimator: Any
    space: dict[str, Any]
    X: Any
    y: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]
    X_test: Any
    y_test: np.ndarray
    groups: np.ndarray | None = None
    scoring: Any = None

    @property
    def whole(self) -> np.ndarray:
        """Rows of the final training set."""
        if len(self.splits) == 1:
            return self.splits[0][0]
        return np.arange(len(self.y))


def load_task(name: str, seed: int, data: str) -> Task:
    """Load a task; the validation rows depend on the seed, except for Yelp.

    The folds of WikiQA keep the answers to a question together.
    """
    path = Path(tempfile.gettempdir()) / "skbayes-benchmarks" / f"{name}.joblib"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        joblib.dump(_make(name, data), path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
    parts = joblib.load(path)
    X, y = parts["X"], parts["y"]
    if name == "wikiqa":
        return _wikiqa_task(parts, seed)
    if name == "yelp":
        rows = np.arange(len(y))
        splits = [(rows[: parts["n_train"]], rows[parts["n_train"] :])]
    else:
        n_dev = {"imdb": N_IMDB_DEV, "adult": N_ADULT_DEV, "letter": N_LETTER_DEV}
        splits = [_held_out(y, n_dev[name], seed)]
    if name in ("yelp", "imdb"):
        from skbayes.text import LiblinearClassifier

        estimator: Any = LiblinearClassifier(random_state=0)
        space: dict[str, Any] = LINEAR_SPACE
    else:
        estimator, space = _trees("LGBMClassifier"), TREES_SPACE
        if name == "letter":
            # Fewer trees, because each round requires one for each of 26 letters.
            space = {**TREES_SPACE, "n_estimators": (5, 50, "log-uniform")}
    return Task(estimator, space, X, y, splits, parts["X_test"], parts["y_test"])


def _trees(kind: str) -> Any:
    import lightgbm

    return getattr(lightgbm, kind)(
        n_jobs=1, verbose=-1, random_state=0, subsample_freq=1, deterministic=True
    )


def _held_out(y: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    train, dev = train_test_split(
        np.arange(len(y)), test_size=n, stratify=y, random_state=seed
    )
    return np.sort(train), np.sort(dev)


def _wikiqa_task(parts: dict[str, Any], seed: int) -> Task:
    from rankers import PrecisionAt1, QueryRanker
    from sklearn.model_selection import GroupKFold

    X, y = parts["X"], parts["y"]
    groups = X[:, 0].astype(int)
    cv = GroupKFold(3, shuffle=True, random_state=seed)
    return Task(
        QueryRanker(_trees("LGBMRanker"), query=0),
        {f"ranker__{name}": values for name, values in TREES_SPACE.items()},
        X,
        y,
        list(cv.split(X, y, groups)),
        parts["X_test"],
        parts["y_test"],
        groups,
        PrecisionAt1(0),
    )


# -- processing of the data -----------------------------------------------------------


def _make(name: str, data: str) -> dict[str, Any]:
    place = Path(data) / "load.py"
    spec = importlib.util.spec_from_file_location("shared_data", place)
    assert spec is not None and spec.loader is not None
    loaders = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaders)
    raw = getattr(loaders, f"load_{name}")()
    if name == "wikiqa":
        return _answers(raw)
    if name in ("yelp", "imdb"):
        return _texts(raw)
    (X, y), (X_test, y_test) = raw["train"], raw["test"]
    if name == "adult":
        X, X_test = X.tocsr().astype(np.float64), X_test.tocsr().astype(np.float64)
    else:
        X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    return {"X": X, "y": y, "X_test": X_test, "y_test": y_test}


def _texts(raw: dict[str, Any]) -> dict[str, Any]:
    """Return unigrams without stop words, stemmed, weighted by tf-idf."""
    import snowballstemmer
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    stem, stems = snowballstemmer.stemmer("english").stemWord, {}

    def analyze(text: str) -> list[str]:
        words = re.findall(r"\b[a-z][a-z]+\b", text.lower())
        for word in words:
            if word not in stems:
                stems[word] = None if word in ENGLISH_STOP_WORDS else stem(word)
        return [stems[word] for word in words if stems[word] is not None]

    texts, y = raw["train"]
    vectorizer = TfidfVectorizer(analyzer=analyze, min_df=2)
    X = vectorizer.fit_transform(texts)
    made = {"n_train": len(y)}
    if raw["dev"] is not None:
        from scipy import sparse

        X = sparse.vstack([X, vectorizer.transform(raw["dev"][0])]).tocsr()
        y = np.concatenate([y, raw["dev"][1]])
    X_test = vectorizer.transform(raw["test"][0])
    return made | {"X": X, "y": y, "X_test": X_test, "y_test": raw["test"][1]}


QUESTION_WORDS = ("who", "what", "when", "where", "how", "which", "why")


def _answers(raw: dict[str, Any]) -> dict[str, Any]:
    """Return features of pairs of question and answer.

    The first column is the number of the question.
    """
    import snowballstemmer

    stem = snowballstemmer.stemmer("english").stemWord
    known: dict[str, str] = {}

    def words(text: str) -> list[str]:
        found = re.findall(r"\w+", text.lower())
        for word in found:
            if word not in known:
                known[word] = stem(word)
        return [known[word] for word in found]

    answers = [words(a) for _, given, _ in raw["train"] for a in given]
    counts = Counter(word for answer in answers for word in set(answer))
    idf = {word: np.log(len(answers) / n) for word, n in counts.items()}
    rare = np.log(len(answers))

    def weight(items: set[str]) -> float:
        return float(sum(idf.get(item, rare) for item in items))

    def pairs(queries: list[tuple], start: int) -> tuple[np.ndarray, np.ndarray]:
        rows, labels = [], []
        for number, (question, given, relevant) in enumerate(queries, start):
            q = words(question)
            kinds = [float(known_word in q[:2]) for known_word in QUESTION_WORDS]
            for place, answer in enumerate(given):
                a = words(answer)
                shared = set(q) & set(a)
                twos = set(zip(q, q[1:], strict=False)) & set(
                    zip(a, a[1:], strict=False)
                )
                places = [i for i, word in enumerate(a) if word in shared]
                rows.append(
                    [
                        number,
                        len(shared),
                        len(shared) / max(len(set(q)), 1),
                        len(shared) / max(len(set(a)), 1),
                        weight(shared),
                        weight(shared) / max(weight(set(q)), 1e-9),
                        weight(shared) / max(weight(set(a)), 1e-9),
                        len(twos),
                        sum(weight(set(two)) for two in twos),
                        len(q),
                        len(a),
                        place,
                        place / len(given),
                        len(given),
                        min(places, default=-1) / len(a) if a else -1.0,
                        (max(places) - min(places)) / len(a) if places else -1.0,
                        sum(any(c.isdigit() for c in word) for word in a),
                        sum(w[:1].isupper() for w in answer.split()),
                        float(")" in answer),
                        *kinds,
                    ]
                )
                labels.append(int(relevant[place]))
        return np.array(rows, dtype=np.float64), np.array(labels)

    X, y = pairs(raw["train"] + raw["dev"], 0)
    X_test, y_test = pairs(raw["test"], 10**6)
    return {"X": X, "y": y, "X_test": X_test, "y_test": y_test}
