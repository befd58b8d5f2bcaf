"""Calls that mypy and pyright must refuse: each line needs its comment.

A comment that no error needs is an error itself, by `warn_unused_ignores` of mypy and
`reportUnnecessaryTypeIgnoreComment` of pyright.

Parameters that a search shares with BayesSearchCV have the same types, says
tests/test_typing.py, and are called wrongly for BayesSearchCV alone.
"""

from sklearn.svm import SVC

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)

estimator = SVC()
space = {"C": (0.1, 10.0)}


def bayes_search() -> None:
    """Call BayesSearchCV wrongly."""
    BayesSearchCV(estimator, n_itr=5)  # type: ignore
    BayesSearchCV(estimator, max_evals=5)  # type: ignore
    BayesSearchCV(estimator, n_iter="5")  # type: ignore
    BayesSearchCV(estimator, timeout=[1])  # type: ignore
    BayesSearchCV(estimator, surrogate="gpp")  # type: ignore
    BayesSearchCV(estimator, surrogate=("gp", "best"))  # type: ignore
    BayesSearchCV(estimator, initial_points="none")  # type: ignore
    BayesSearchCV(estimator, n_jobs="all")  # type: ignore
    BayesSearchCV(estimator, refit=3)  # type: ignore
    BayesSearchCV(estimator, cv="5")  # type: ignore
    BayesSearchCV(estimator, verbose="loud")  # type: ignore
    BayesSearchCV(estimator, pre_dispatch=None)  # type: ignore
    BayesSearchCV(estimator, random_state="seed")  # type: ignore
    BayesSearchCV(estimator, error_score="ignore")  # type: ignore
    BayesSearchCV(estimator, return_train_score="yes")  # type: ignore
    BayesSearchCV(estimator, stopper=5)  # type: ignore
    BayesSearchCV(estimator, journal=5)  # type: ignore
    BayesSearchCV(estimator, constraints="recall >= 0.7")  # type: ignore
    BayesSearchCV(estimator, trial_limits=10)  # type: ignore
    BayesSearchCV(estimator, scoring=3)  # type: ignore
    BayesSearchCV(estimator, pruning="always")  # type: ignore
    BayesSearchCV(estimator, early_stopping="all")  # type: ignore
    BayesSearchCV(estimator, return_folds=True)  # type: ignore
    BayesSearchCV(estimator, objectives={})  # type: ignore
    BayesSearchCV(estimator, "automatic")  # type: ignore
    BayesSearchCV(space, estimator)  # type: ignore
    BayesSearchCV(estimator, space, 30, 5)  # type: ignore
    BayesSearchCV()  # type: ignore
    search = BayesSearchCV(estimator)
    print(search.best_parms_)  # type: ignore
    print(search.stop_reasons_)  # type: ignore
    print(search.pareto_front_)  # type: ignore
    search.fti([], [])  # type: ignore
    search.best_params_.append(1)  # type: ignore
    print(search.stop_reason_ + 1)  # type: ignore
    len(search.best_score_)  # type: ignore
    print(search.trials_.bset)  # type: ignore


def multi_stage_search() -> None:
    """Call MultiStageSearchCV wrongly."""
    MultiStageSearchCV(estimator, n_itr=5)  # type: ignore
    MultiStageSearchCV(estimator, n_iter="5")  # type: ignore
    MultiStageSearchCV(estimator, stages=0.3)  # type: ignore
    MultiStageSearchCV(estimator, pruning="yes")  # type: ignore
    MultiStageSearchCV(estimator, n_promoted="3")  # type: ignore
    MultiStageSearchCV(estimator, multi_fidelity="yes")  # type: ignore
    MultiStageSearchCV(estimator, best_of="first_stage")  # type: ignore
    search = MultiStageSearchCV(estimator)
    print(search.optimizer)  # type: ignore
    print(search.train_fraction_)  # type: ignore


def hyper_tune_search() -> None:
    """Call HyperTuneSearchCV wrongly."""
    HyperTuneSearchCV(estimator, n_itr=5)  # type: ignore
    HyperTuneSearchCV(estimator, n_iter="5")  # type: ignore
    HyperTuneSearchCV(estimator, n_iter="auto")  # type: ignore
    HyperTuneSearchCV(estimator, surrogate="tpe")  # type: ignore
    HyperTuneSearchCV(estimator, complexity="all")  # type: ignore
    HyperTuneSearchCV(estimator, subset_fraction="10%")  # type: ignore
    HyperTuneSearchCV(estimator, n_subsets="5")  # type: ignore
    HyperTuneSearchCV(estimator, n_small_iter="few")  # type: ignore
    search = HyperTuneSearchCV(estimator)
    print(search.sign_)  # type: ignore


def tradeoff_search() -> None:
    """Call TradeoffSearchCV wrongly."""
    TradeoffSearchCV(estimator, n_itr=5)  # type: ignore
    TradeoffSearchCV(estimator, pruning=True)  # type: ignore
    TradeoffSearchCV(estimator, surrogate=("gp", "ei"))  # type: ignore
    TradeoffSearchCV(estimator, tradeoff="low")  # type: ignore
    TradeoffSearchCV(estimator, train_sizes=0.5)  # type: ignore
    TradeoffSearchCV(estimator, cost=3)  # type: ignore
    TradeoffSearchCV(estimator, score_range=1)  # type: ignore
    TradeoffSearchCV(estimator, cost_scale="sqrt")  # type: ignore
    TradeoffSearchCV(estimator, all_tradeoffs="yes")  # type: ignore
    search = TradeoffSearchCV(estimator)
    print(search.best_costs_)  # type: ignore
    print(search.best_gain_)  # type: ignore


def pareto_search() -> None:
    """Call ParetoSearchCV wrongly."""
    ParetoSearchCV(estimator, n_itr=5)  # type: ignore
    ParetoSearchCV(estimator, scoring="accuracy")  # type: ignore
    ParetoSearchCV(estimator, pruning=True)  # type: ignore
    ParetoSearchCV(estimator, return_folds="predict")  # type: ignore
    ParetoSearchCV(estimator, objectives=["accuracy", "fit_time"])  # type: ignore
    search = ParetoSearchCV(estimator)
    print(search.pareto_fronts_)  # type: ignore
    print(search.best_gain_)  # type: ignore


def text_representation_search() -> None:
    """Call TextRepresentationSearchCV wrongly."""
    TextRepresentationSearchCV(n_itr=5)  # type: ignore
    TextRepresentationSearchCV(n_iter="5")  # type: ignore
    TextRepresentationSearchCV(early_stopping=10)  # type: ignore
    TextRepresentationSearchCV(best_of="last_stage")  # type: ignore
    TextRepresentationSearchCV(stages="all")  # type: ignore
    TextRepresentationSearchCV(space="short")  # type: ignore
    TextRepresentationSearchCV(dev="texts")  # type: ignore
    TextRepresentationSearchCV(language=3)  # type: ignore
    search = TextRepresentationSearchCV()
    print(search.trial_)  # type: ignore
