import datetime
import math
import sys

import every_search
import optuna
import pytest
from journal_samples import SPACE, fold, open_journal, record, trial_of

from skbayes.tracking import export_to_optuna
from skbayes.trial import FoldResult, History, Trial

optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture(scope="module", params=every_search.SEARCHES)
def search(request):
    return every_search.fitted(request.param)


def test_every_search_becomes_a_study(search):
    study = export_to_optuna(search)
    trials = sorted(search.trials_, key=lambda trial: trial.number)
    for ours, theirs in zip(trials, study.trials, strict=True):
        assert theirs.user_attrs["skbayes_trial"] == ours.number
        assert set(theirs.params) == set(ours.params)
        assert theirs.user_attrs["state"] == ours.state
        assert theirs.duration.total_seconds() == pytest.approx(ours.duration, abs=1e-3)
    if len(study.directions) == 1:
        complete = [t.score for t in trials if t.state == "complete"]
        assert study.best_value == pytest.approx(max(complete))
    else:
        assert [d.name for d in study.directions] == ["MAXIMIZE", "MINIMIZE"]
        means = {name: row.mean() for name, row in trials[0].scores.items()}
        values = [means[name] for name in search.objectives]
        assert study.trials[0].values == pytest.approx(values)


def test_ranges_are_those_of_the_space_and_the_study_shows_importances():
    study = export_to_optuna(every_search.fitted(every_search.BayesSearchCV))
    ranges = study.trials[0].distributions
    assert ranges["min_samples_leaf"] == optuna.distributions.IntDistribution(1, 20)
    choices = optuna.distributions.CategoricalDistribution([1, 2, 3])
    assert ranges["max_depth"] == choices
    evaluator = optuna.importance.FanovaImportanceEvaluator(n_trees=2, seed=0)
    importances = optuna.importance.get_param_importances(study, evaluator=evaluator)
    assert set(importances) == set(every_search.SPACE)


def test_a_journal_is_exported_while_it_grows(tmp_path):
    path, storage = tmp_path / "a.journal", f"sqlite:///{tmp_path}/studies.db"
    export = {"study_name": "a", "storage": storage, "search_spaces": SPACE}
    with open_journal(path) as journal:
        record(journal, range(1))
        export_to_optuna(path, **export)
        export_to_optuna(path, study_name="b", storage=storage)
        record(journal, range(1, 5))
        export_to_optuna(path, **export)
        with pytest.raises(ValueError, match="dynamic value space. Pass search_spaces"):
            export_to_optuna(path, study_name="b", storage=storage)
    study = optuna.load_study(study_name="a", storage=storage)
    assert [t.user_attrs["skbayes_trial"] for t in study.trials] == list(range(5))
    assert study.best_value == 0.4
    kinds = optuna.distributions
    distributions = study.trials[0].distributions
    assert distributions["C"] == kinds.FloatDistribution(1e-3, 1e3, log=True)
    assert distributions["kernel"] == kinds.CategoricalDistribution(["rbf", "linear"])
    assert study.trials[0].params["clf"] == "SVC()"
    # The value of a parameter of another branch is unknown.
    assert "gamma" in distributions and "gamma" not in study.trials[1].params


def test_states_and_times_are_exported():
    begin = datetime.datetime(2020, 1, 2, 3, 4, 5)
    failed = [FoldResult(fit_error="Trace\nValueError: C")]
    trials = [
        trial_of(0, score=0.5, started=begin.timestamp()),
        trial_of(1, folds=failed, score=math.nan, state="failed"),
        trial_of(2, score=0.2, state="pruned"),
        trial_of(3, score=0.2, state="timed_out"),
    ]
    study = export_to_optuna(History(trials))
    states = [t.state.name for t in study.trials]
    assert states == ["COMPLETE", "FAIL", "PRUNED", "PRUNED"]
    first, failed, *_ = study.trials
    assert first.datetime_start == begin
    assert first.duration.total_seconds() == 1.5
    assert first.value == 0.5 and failed.value is None
    assert failed.user_attrs["error"] == "ValueError: C"


def test_a_study_with_other_directions_is_refused():
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(study_name="a", storage=storage, direction="minimize")
    history = History([Trial(0, {"C": 1}, [fold(0.5)], score=0.5)])
    with pytest.raises(
        ValueError, match="study_name: the directions of the study 'a' differ"
    ):
        export_to_optuna(history, study_name="a", storage=storage)


def test_without_optuna_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"needs optuna.*skbayes\[tracking\]"):
        export_to_optuna(History())
