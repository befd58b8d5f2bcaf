import json
import pickle
import struct
import warnings
import zipfile

import pytest
from every_search import SEARCHES, data, make
from picky_classifier import Picky
from recording_callbacks import Recorder
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_validate
from sklearn.svm import SVC

from skbayes import BayesSearchCV, TradeoffSearchCV, compat
from skbayes.evaluation import FoldResult, Trial
from skbayes.tracking import TrialLogger

X, y = load_iris(return_X_y=True)

needs_callbacks = pytest.mark.skipif(
    not compat.HAS_CALLBACKS, reason="scikit-learn has callbacks since 1.9"
)

FAILURES = "ignore::sklearn.exceptions.FitFailedWarning", "ignore:.*non-finite"


class Run:
    """Run with the methods of wandb that are used."""

    def __init__(self):
        self.rows = []

    def define_metric(self, name):
        raise AssertionError

    def log(self, row):
        self.rows.append(row)


SPACE = [
    {"kernel": ["linear"], "C": [0.1, 1.0]},
    {"kernel": ["rbf"], "gamma": ["scale", 0.1], "class_weight": [None, {0: 2.0}]},
]


def search(*callbacks, space=SPACE, **more):
    more = {"n_iter": 6, "cv": 2, "random_state": 0, **more}
    search = BayesSearchCV(Picky(), space, **more)
    return search.set_callbacks(*callbacks) if callbacks else search


def expected(trial):
    """Return parts of the content that are known from a trial."""
    params = {f"param_{name}": value for name, value in trial.params.items()}
    for name, value in params.items():
        params[name] = str(value) if value is None or type(value) is dict else value
    scores = {f"mean_test_{n}": s.mean() for n, s in trial.scores.items()}
    known = {"trial": trial.number, "state": str(trial.state), **params}
    if trial.state == "failed":
        return {**known, "error": "ValueError: C is too small"}
    return known | scores


def check(rows, trials):
    """Compare what was logged with the trials of a search."""
    assert len(rows) == len(trials)
    by_number = {row["trial"]: row for row in rows}
    for trial in trials:
        row, known = by_number[trial.number], expected(trial)
        for name, value in known.items():
            if isinstance(value, float):
                value = pytest.approx(value)
            assert row[name] == value, name
        given = {name for name in row if name.startswith("param_")}
        assert given == {name for name in known if name.startswith("param_")}


@needs_callbacks
@pytest.mark.filterwarnings(*FAILURES)
@pytest.mark.parametrize("n_jobs, others", [(None, ()), (2, (Recorder(),))])
def test_each_trial_is_a_row_of_a_run(n_jobs, others):
    run = Run()
    scoring = ["accuracy", "f1_macro"]
    fitted = search(
        TrialLogger(run), *others, n_jobs=n_jobs, scoring=scoring, refit="accuracy"
    ).fit(X, y)
    states = {trial.state for trial in fitted.trials_}
    assert states == {"complete", "failed"}
    check(run.rows, fitted.trials_)
    failed = [row for row in run.rows if row["state"] == "failed"]
    assert not any("mean_test_accuracy" in row for row in failed)


@needs_callbacks
@pytest.mark.parametrize("kind", SEARCHES)
def test_every_search_logs_its_trials(kind):
    run = Run()
    fitted = make(kind, n_iter=4).set_callbacks(TrialLogger(run)).fit(*data(kind))
    logged = [row["trial"] for row in run.rows]
    assert logged == [trial.number for trial in fitted.trials_]
    costs = [row for row in run.rows if any(name.startswith("cost_") for name in row)]
    assert bool(costs) == (kind is TradeoffSearchCV)


@needs_callbacks
@pytest.mark.filterwarnings(*FAILURES)
def test_trials_of_the_journal_are_not_logged_again(tmp_path):
    run, path = Run(), tmp_path / "search.journal"
    search(TrialLogger(run), journal=path, n_iter=2).fit(X, y)
    assert [row["trial"] for row in run.rows] == [0, 1]
    fitted = search(TrialLogger(run), journal=path).fit(X, y)
    check(run.rows, fitted.trials_)


@needs_callbacks
def test_fits_are_not_reported_to_a_logger():
    assert not compat.has_callbacks(search(TrialLogger(Run())))
    assert compat.has_callbacks(search(TrialLogger(Run()), Recorder()))


@needs_callbacks
def test_a_clone_logs_to_the_same_run_and_a_pickle_to_none():
    run = Run()
    ours = search(TrialLogger(run), n_iter=2, space={"C": [1.0, 2.0]})
    cross_validate(clone(ours), X, y, cv=2)
    assert [row["trial"] for row in run.rows] == [0, 1, 0, 1]
    loaded = pickle.loads(pickle.dumps(ours.fit(X, y)))
    with pytest.warns(UserWarning, match="Trials are not logged, because"):
        loaded.fit(X, y)
    assert len(run.rows) == 6


@needs_callbacks
def test_an_error_of_the_run_does_not_end_the_search(monkeypatch):
    def log(self, row):
        if row["trial"] == 0:
            raise OSError("no space left")
        self.rows.append(row)

    run = Run()
    monkeypatch.setattr(Run, "log", log)
    ours = search(TrialLogger(run), n_iter=2, space={"C": [1.0, 2.0]})
    with pytest.warns(UserWarning, match=r"Trial 0 was not logged: OSError.*space"):
        ours.fit(X, y)
    assert len(ours.trials_) == 2 and len(run.rows) == 1


def test_one_trial_is_logged_without_a_search():
    folds = [
        FoldResult({"score": s}, extras={"outcomes": {"leaves": 3.0}}) for s in (0.4, 1)
    ]
    params = {"C": float("inf"), "gamma": None, "base": SVC()}
    run = Run()
    TrialLogger(run).log(Trial(3, params, folds, score=0.7))
    (row,) = run.rows
    assert row["trial"] == 3 and row["mean_test_score"] == pytest.approx(0.7)
    assert row["mean_constraint_leaves"] == 3.0
    assert [row[f"param_{name}"] for name in params] == ["inf", "None", "SVC()"]


def test_another_object_is_refused():
    with pytest.raises(TypeError, match="run must be a run of wandb"):
        TrialLogger("wandb")


# -- the packages themselves -----------------------------------------------------------


@pytest.fixture(scope="module")
def trials():
    ours = search(scoring=["accuracy", "f1_macro"], refit="accuracy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ours.fit(X, y).trials_


def log_all(run, trials):
    logger = TrialLogger(run)
    for trial in trials:
        logger.log(trial)


def blocks(content):
    """Yield the records of a file in the log format of LevelDB, after 7 bytes."""
    place, record = 7, b""
    while place + 7 <= len(content):
        left = 2**15 - place % 2**15
        if left < 7:
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", content, place)
        record += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            yield record
            record = b""


def test_rows_of_weights_and_biases(trials, tmp_path):
    wandb = pytest.importorskip("wandb", reason="needs wandb")
    from wandb.proto import wandb_internal_pb2

    silent = wandb.Settings(silent=True, console="off")
    with wandb.init(mode="offline", dir=tmp_path, settings=silent) as run:
        log_all(run, trials)
    (path,) = tmp_path.rglob("*.wandb")
    rows = []
    for block in blocks(path.read_bytes()):
        record = wandb_internal_pb2.Record.FromString(block)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append({i.key or i.nested_key[0]: i.value_json for i in items})
    rows = [{name: json.loads(text) for name, text in row.items()} for row in rows]
    check(rows, trials)


def test_sessions_of_tensorboard(trials, tmp_path):
    tensorboardX = pytest.importorskip("tensorboardX", reason="needs tensorboardX")
    pytest.importorskip("tensorboard", reason="needs tensorboard")
    from tensorboard.backend.event_processing.data_provider import (
        MultiplexerDataProvider,
    )
    from tensorboard.backend.event_processing.plugin_event_multiplexer import (
        EventMultiplexer,
    )
    from tensorboard.context import RequestContext
    from tensorboard.plugins.base_plugin import TBContext
    from tensorboard.plugins.hparams import (
        api_pb2,
        get_experiment,
        list_session_groups,
    )
    from tensorboard.plugins.hparams.backend_context import Context

    class Writer(tensorboardX.SummaryWriter):
        """Derived class of a user."""

    with Writer(str(tmp_path)) as writer:
        log_all(writer, trials)
    # What the dashboard shows.
    runs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
    provider = MultiplexerDataProvider(runs, str(tmp_path))
    request = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=100)
    request.allowed_statuses.extend([api_pb2.STATUS_SUCCESS])
    arguments = (
        RequestContext(),
        Context(TBContext(data_provider=provider)),
        "",
        request,
    )
    rows = []
    for group in list_session_groups.Handler(*arguments).run().session_groups:
        params, scores = group.hparams.items(), group.metric_values
        row = {
            name: getattr(v, v.WhichOneof("kind"))
            for name, v in params
            if v.WhichOneof("kind")
        }
        rows.append(row | {score.name.tag: score.value for score in scores})
    check(rows, trials)
    shown = get_experiment.Handler(*arguments[:3], api_pb2.GetExperimentRequest()).run()
    columns = {column.name for column in shown.hparam_infos}
    columns |= {column.name.tag for column in shown.metric_infos}
    assert {name for row in rows for name in row} == columns


def test_steps_of_comet(trials, tmp_path):
    comet_ml = pytest.importorskip("comet_ml", reason="needs comet_ml")
    off = ("log_code", "log_env_details", "log_git_metadata", "log_git_patch")
    experiment = comet_ml.OfflineExperiment(
        offline_directory=str(tmp_path),
        auto_output_logging=False,
        parse_args=False,
        display_summary_level=0,
        **dict.fromkeys(off, False),
    )
    log_all(experiment, trials)
    experiment.end()
    (path,) = tmp_path.glob("*.zip")
    rows, steps = [], {}
    with zipfile.ZipFile(path) as file:
        for line in file.read("messages.json").decode().splitlines():
            message = json.loads(line)
            content = message["payload"]
            if message["type"] == "file_upload":
                assert content["additional_params"]["step"] == len(rows)
                rows.append(content["metadata"])
            if message["type"] == "metric_msg":
                metric = content["metric"]
                steps.setdefault(metric["step"], {})[metric["metricName"]] = metric[
                    "metricValue"
                ]
    check(rows, trials)
    for trial in trials:
        known = expected(trial)
        names = ("param_C", "mean_test_accuracy", "mean_test_f1_macro")
        for name in set(names) & set(known):
            assert float(steps[trial.number][name]) == pytest.approx(known[name])
