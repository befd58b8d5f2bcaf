"""Figures of visualization.rst and quick_start.rst.

    python docs/draw_pictures.py [names]

The script takes about a minute. The times depend on the machine.
"""

import argparse
import functools
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt  # noqa: E402
from scipy.stats import loguniform  # noqa: E402
from sklearn.datasets import load_digits, load_wine  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    RandomizedSearchCV,
    train_test_split,
)
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from skbayes import (  # noqa: E402
    BayesSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TradeoffSearchCV,
)
from skbayes.inspection import (  # noqa: E402
    ConvergenceDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    ParetoDisplay,
    PartialDependenceDisplay,
    TradeoffDisplay,
)
from skbayes.space import Choice  # noqa: E402

FOLDER = Path(__file__).parent / "images" / "inspection"
DPI = 90


@functools.cache
def digits():
    """Return a part of the digits data, which makes the task harder."""
    X, y = load_digits(return_X_y=True)
    return X[:700] / 16.0, y[:700]


def quick_start():
    """The plot of quick_start.rst."""
    X, y = load_digits(return_X_y=True)
    X, _, y, _ = train_test_split(X, y, random_state=0)
    steps = [("scaler", StandardScaler()), ("svc", SVC())]
    spaces = {
        "svc__C": (0.1, 100.0, "log-uniform"),
        "svc__gamma": (1e-4, 1e-1, "log-uniform"),
    }
    search = BayesSearchCV(Pipeline(steps), spaces, n_iter=10, random_state=0)
    table = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [0.0001, 0.001, 0.01, 0.1]}
    grid = GridSearchCV(Pipeline(steps), table)
    display = ConvergenceDisplay.from_search(search.fit(X, y), name="BayesSearchCV")
    ConvergenceDisplay.from_search(grid.fit(X, y), name="GridSearchCV", ax=display.ax_)
    return display.figure_


SPACES = {
    "C": (1e-2, 1e3, "log-uniform"),
    "gamma": (1e-4, 1e1, "log-uniform"),
}


@functools.cache
def conditional_search():
    """Return a search over kernels with conditional parameters."""
    X, y = load_wine(return_X_y=True)
    spaces = {
        "C": (1e-2, 1e3, "log-uniform"),
        "kernel": Choice(
            {
                "rbf": {"gamma": (1e-4, 1e1, "log-uniform")},
                "poly": {"degree": [2, 3, 4], "coef0": (0.0, 1.0)},
                "linear": {},
            }
        ),
        "class_weight": [None, "balanced"],
    }
    X = StandardScaler().fit_transform(X)
    search = BayesSearchCV(
        SVC(probability=False),
        spaces,
        n_iter=40,
        cv=5,
        scoring="balanced_accuracy",
        random_state=0,
    )
    return search.fit(X, y)


def convergence():
    """Plot the convergence of two searches in one figure."""
    X, y = digits()
    distributions = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-4, 1e1)}
    svc, settings = SVC(gamma=0.1), {"n_iter": 30, "cv": 3, "random_state": 0}
    random = RandomizedSearchCV(svc, distributions, **settings)
    bayes = BayesSearchCV(svc, SPACES, **settings)
    display = ConvergenceDisplay.from_search(bayes.fit(X, y))
    ConvergenceDisplay.from_search(random.fit(X, y), ax=display.ax_)
    return display.figure_


def convergence_seconds():
    """Plot convergence over time of a search and of a search in stages."""
    X, y = digits()
    display, settings = None, {"n_iter": 40, "cv": 5, "random_state": 0}
    plain = BayesSearchCV(SVC(), SPACES, **settings)
    staged = MultiStageSearchCV(SVC(), SPACES, stages=(0.3, 1.0), **settings)
    for search in (plain.fit(X, y), staged.fit(X, y)):
        ax = None if display is None else display.ax_
        display = ConvergenceDisplay.from_search(search, by="seconds", ax=ax)
    return display.figure_


def parallel_coordinates():
    """Plot parallel coordinates of a search with conditional parameters."""
    return ParallelCoordinatesDisplay.from_search(conditional_search()).figure_


@functools.cache
def kernel_search():
    """Return a search over ranges and options."""
    spaces = {
        "C": (1e-2, 1e3, "log-uniform"),
        "gamma": (1e-6, 1e-1, "log-uniform"),
        "kernel": ["rbf", "poly", "linear"],
        "shrinking": [True, False],
    }
    X, y = load_digits(return_X_y=True)
    search = BayesSearchCV(SVC(), spaces, n_iter=30, cv=3, random_state=0)
    return search.fit(X[:500], y[:500])


def partial_dependence():
    """Plot the partial dependence of the surrogate on each parameter."""
    return PartialDependenceDisplay.from_search(kernel_search(), n_cols=2).figure_


def partial_dependence_pairs():
    """Plot the partial dependence on a pair of ranges."""
    pairs = [("C", "gamma")]
    return PartialDependenceDisplay.from_search(kernel_search(), pairs).figure_


def importance():
    """Plot the importance of each parameter."""
    return ImportanceDisplay.from_search(kernel_search()).figure_


@functools.cache
def pareto_search():
    """Return a search for accurate and small trees."""
    search = ParetoSearchCV(
        DecisionTreeClassifier(random_state=0),
        {
            "max_depth": (2, 20),
            "min_samples_leaf": (1, 50, "log-uniform"),
            "max_features": (0.05, 1.0),
        },
        {"accuracy": "max", "model_size": "min"},
        n_iter=40,
        cv=3,
        random_state=0,
    )
    return search.fit(*digits())


def pareto():
    """Plot the Pareto front."""
    return ParetoDisplay.from_search(pareto_search()).figure_


def pareto_evolution():
    """Plot the evolution of the Pareto front."""
    return ParetoDisplay.from_search(pareto_search(), kind="evolution").figure_


def tradeoff():
    """Plot the score against the size of the model."""
    X, y = load_digits(return_X_y=True)
    search = TradeoffSearchCV(
        SVC(),
        {"C": (1e-1, 1e3, "log-uniform"), "gamma": (1e-4, 1e-2, "log-uniform")},
        tradeoff=0.03,
        cost="model_size",
        n_iter=25,
        cv=3,
        random_state=0,
    )
    return TradeoffDisplay.from_search(search.fit(X, y)).figure_


PICTURES = (
    quick_start,
    convergence,
    convergence_seconds,
    parallel_coordinates,
    partial_dependence,
    partial_dependence_pairs,
    importance,
    pareto,
    pareto_evolution,
    tradeoff,
)


def main():
    names = [draw.__name__ for draw in PICTURES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *names], default=[])
    chosen = parser.parse_args().names
    FOLDER.mkdir(parents=True, exist_ok=True)
    for draw in PICTURES:
        if not chosen or draw.__name__ in chosen:
            with warnings.catch_warnings():
                # Some fits fail intentionally.
                warnings.simplefilter("ignore")
                figure = draw()
            figure.savefig(FOLDER / f"{draw.__name__}.png", dpi=DPI)
            plt.close(figure)


if __name__ == "__main__":
    main()
