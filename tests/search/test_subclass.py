"""Subclasses of users: their constructors, parameters, properties, and journals."""

import pickle

import numpy as np
import pytest
from every_search import SEARCHES, SPACE, data, make
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_val_score
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV, ParetoSearchCV, TextRepresentationSearchCV

X, y = load_iris(return_X_y=True)
X, y = X[::5], y[::5]
TREE = DecisionTreeClassifier(random_state=0)


class Renamed(BayesSearchCV):
    """Search with other names and fewer parameters."""

    def __init__(self, estimator, grid, *, n_trials=3, folds=2, seed=0):
        self.grid = grid
        self.n_trials = n_trials
        self.folds = folds
        self.seed = seed
        super().__init__(
            estimator, grid, n_iter=n_trials, cv=folds, random_state=seed, pruning=True
        )


class Derived(BayesSearchCV):
    """Search whose parameters are properties, with the constructor of its own."""

    pruning, constraints = False, None
    early_stopping = trial_limits = stopper = warm_start_from = None
    n_jobs = timeout = journal = scoring = None
    surrogate, initial_points, pre_dispatch = "gp", "default", "2*n_jobs"
    refit, return_folds, return_train_score, verbose = True, False, False, 0
    error_score = np.nan

    def __init__(self, estimator, grid, seed=0):
        self.estimator = estimator
        self.grid = grid
        self.seed = seed

    search_spaces = property(lambda self: self.grid)
    n_iter = property(lambda self: 3)
    cv = property(lambda self: KFold(2, shuffle=True, random_state=self.seed))
    random_state = property(lambda self: self.seed)


class Open(BayesSearchCV):
    """Search that passes all other arguments on."""

    def __init__(self, estimator, search_spaces="auto", level=1, **options):
        super().__init__(estimator, search_spaces, **options)
        self.level = level


@pytest.mark.parametrize("kind", [Renamed, Derived])
def test_a_subclass_with_a_constructor_of_its_own(kind):
    search = kind(TREE, SPACE)
    assert search.grid is SPACE and search.search_spaces is SPACE
    assert set(search.get_params(deep=False)) >= {"estimator", "grid", "seed"}
    assert "search_spaces" not in search.get_params()
    search.fit(X, y)
    assert len(search.trials_) == 3
    twin = clone(search.set_params(estimator__max_depth=4, seed=1))
    assert twin.seed == 1 and twin.estimator.max_depth == 4
    assert not hasattr(twin, "cv_results_")
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert len(cross_val_score(kind(TREE, SPACE), X, y, cv=2)) == 2


def test_a_forgotten_constructor_is_refused_before_the_first_fit(no_trials):
    class Own(BayesSearchCV):
        """Search whose docstring leaves out a parameter.

        Parameters
        ----------
        estimator : object
            Estimator.
        """

        def __init__(self, estimator, search_spaces="auto", *, level=1):
            self.estimator = estimator
            self.search_spaces = search_spaces
            self.level = level

    assert clone(Own(TREE, SPACE, level=2)).level == 2
    with pytest.raises(TypeError, match=r"Own.__init__ must call super.*n_iter, "):
        Own(TREE, SPACE).fit(X, y)


def test_a_clone_has_the_parameters_that_a_subclass_takes_by_any_name():
    search = Open(TREE, SPACE, level=3, n_iter=2, cv=KFold(2), scoring="f1_macro")
    again = clone(clone(search))
    assert again.level == 3
    assert vars(again).keys() == vars(search).keys()
    assert (again.n_iter, again.scoring) == (2, "f1_macro")
    assert again.estimator is not search.estimator and again.cv is not search.cv
    search.fit(X, y)
    assert vars(clone(search)).keys() == vars(again).keys()
    assert len(again.fit(X, y).trials_) == 2


def test_parameters_that_a_subclass_sets_are_used_and_checked():
    search = Renamed(TREE, SPACE)
    assert search.pruning is True and search.refit is True and search.surrogate == "gp"
    search.pruning = 0.7
    with pytest.raises(ValueError, match="'pruning' parameter of Renamed must be"):
        search.fit(X, y)
    search = Open(TREE, SPACE, trial_limits=3)
    with pytest.raises(ValueError, match="'trial_limits' parameter of Open must be"):
        search.fit(X, y)


def test_constraints_replaced_by_a_subclass_keep_the_options():
    class Own(Renamed):
        _parameter_constraints = {"grid": [dict]}

        def __init__(self, estimator, grid, *, limit="<= 3"):
            self.limit = limit
            super().__init__(estimator, grid, n_trials=4)

        constraints = property(
            lambda self: {"leaves": (lambda model: model.get_n_leaves(), self.limit)},
            lambda self, default: None,
        )

    search = Own(TREE, SPACE).fit(X, y)
    assert len(search.trials_) == 4
    assert "mean_constraint_leaves" in search.cv_results_
    assert search.best_estimator_.get_n_leaves() <= 3


def test_the_journal_of_a_subclass_contains_what_it_sets(tmp_path):
    class Scored(BayesSearchCV):
        def __init__(self, estimator, space, metric="accuracy", n_trials=2):
            self.space = space
            self.metric = metric
            self.n_trials = n_trials
            super().__init__(
                estimator,
                space,
                scoring=metric,
                n_iter=n_trials,
                cv=2,
                random_state=0,
                journal=tmp_path / "run.journal",
            )

    Scored(TREE, SPACE).fit(X, y)
    with pytest.raises(ValueError, match="scoring"):
        Scored(TREE, SPACE, metric="f1_macro").fit(X, y)


@pytest.mark.parametrize("kind", SEARCHES)
def test_each_search_can_be_subclassed(kind):
    class Child(kind):
        def __init__(self, estimator=None, depth=3):
            self.depth = depth
            params = make(kind).get_params(deep=False)
            super().__init__(**params)
            self.estimator = estimator or params["estimator"]

    search = Child()
    assert set(search.get_params(deep=False)) == {"estimator", "depth"}
    changed = search.set_params(depth=4)
    changed.n_iter = 4
    assert clone(changed).depth == 4
    assert changed.fit(*data(kind)).cv_results_["params"]


def test_parameters_that_a_search_does_not_have_are_refused():
    with pytest.raises(AttributeError, match="has no scoring; set its objectives"):
        ParetoSearchCV(SVC()).scoring = "f1"
    for name in ("early_stopping", "best_of"):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            TextRepresentationSearchCV(**{name: None})
