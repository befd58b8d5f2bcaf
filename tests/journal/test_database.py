"""Journals in databases: several drivers of one search, their deaths and rights."""

import functools
import multiprocessing
import os
import pickle
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from attacks.drivers import Attack, Slow
from journal_samples import (
    exact,
    fold,
    fork,
    in_child,
    open_journal,
    params_of,
    record,
    trial_of,
)
from postgres import missing, server
from recording_callbacks import Recorder
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from skbayes import BayesSearchCV, HyperTuneSearchCV, MultiStageSearchCV, load_history
from skbayes.inspection import advice
from skbayes.journal import database
from skbayes.journal.__main__ import main
from skbayes.journal.database import display_name
from skbayes.journal.journal import Journal

sqlalchemy = pytest.importorskip("sqlalchemy")

X, y = load_iris(return_X_y=True)
SPACE = {"C": (0.01, 100.0, "log-uniform"), "gamma": (1e-3, 10.0, "log-uniform")}


@pytest.fixture(scope="module")
def postgresql():
    """Return the URL of a PostgreSQL server."""
    pytest.importorskip("psycopg")
    if reason := missing():
        pytest.skip(reason)
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path, monkeypatch):
    """Return the URL of a new table, in which a killed driver is soon found to be."""
    if request.param == "sqlite":
        for name, seconds in {"BEAT": 0.1, "LOOK": 0.05, "LEASE": 0.5}.items():
            monkeypatch.setattr(database, name, seconds)
        return f"sqlite:///{tmp_path}/journal.db"
    monkeypatch.setattr(database, "LOOK", 0.05)
    place = request.getfixturevalue("postgresql")
    return f"{place}#t{time.monotonic_ns()}"


@pytest.fixture
def sqlite(tmp_path):
    return f"sqlite:///{tmp_path}/journal.db"


def execute(url, *statements, **more):
    """Run statements of SQL on the database of a journal; return the last rows."""
    with database._Database(url, **more) as connection:
        for statement in statements:
            rows = connection._run(sqlalchemy.text(statement))
    return rows


def search(journal, **more):
    shared = {"n_iter": 8, "cv": 2, "random_state": 0, "pre_dispatch": 3}
    return BayesSearchCV(SVC(), SPACE, journal=journal, **(shared | more))


def table_of(fitted):
    """Return the table of a search without times as text."""
    scores = {n: v.tolist() for n, v in fitted.cv_results_.items() if "_test_" in n}
    states = [trial.state for trial in fitted.trials_]
    return repr((fitted.cv_results_["params"], scores, states))


@functools.cache
def whole_table():
    """Return the table of `search` without a journal."""
    return table_of(search(None).fit(X, y))


# -- rows -------------------------------------------------------------------------


def test_trials_come_back_exactly(url):
    trials = [
        trial_of(0, score=float("nan"), error="\0\ud800 é"),
        trial_of(1, folds=[fold(0.1), fold(1e300)], extras={"violation": np.inf}),
    ]
    with open_journal(url) as journal:
        for trial in trials:
            journal.record_proposal(trial.number, trial.params, 0.25)
            journal.record_result(trial)
        journal.record_stage(1, 2)
    with open_journal(url) as journal:
        assert [exact(journal.results[n]) for n in (0, 1)] == list(map(exact, trials))
        assert journal.expected_improvements == [0.25, 0.25]
        assert journal.stages == {1: 2}
    assert list(load_history(url)["score"])[1] == trials[1].score


def test_the_first_proposal_and_the_first_result_of_a_trial_count(url):
    with open_journal(url) as one, open_journal(url) as other:
        assert one.record_proposal(0, params_of(0), None)
        assert not other.record_proposal(0, params_of(5), None)
        assert other.proposals == [params_of(0)]
        assert other.record_result(trial_of(0))
        assert not one.record_result(trial_of(0, score=9.0))
        assert exact(one.results[0]) == exact(trial_of(0))
        one.record_stage(1, 1)
        other.record_stage(1, 7)
        assert other.stages == {1: 1}


def test_a_trial_belongs_to_the_driver_that_claims_it_until_it_ends(url):
    with open_journal(url) as one:
        for number in range(2):
            one.record_proposal(number, params_of(number), None)
        with open_journal(url) as other:
            assert other.claim(0)
            assert not one.claim(0)
            assert one.claim(1)
            assert not other.claim(1)
            one.record_result(trial_of(1))
        time.sleep(database.LOOK)
        assert one.claim(0)
        assert not one.claim(1)


def claim_and_die(url):
    journal = open_journal(url)
    journal.record_proposal(0, params_of(0), None)
    assert journal.claim(0)
    os.kill(os.getpid(), signal.SIGKILL)


@fork
def test_the_trial_of_a_killed_driver_is_taken_over(url):
    assert in_child(claim_and_die, url) == -signal.SIGKILL
    with open_journal(url) as journal:
        end = time.monotonic() + 60
        while not journal.claim(0):
            assert time.monotonic() < end
            time.sleep(0.02)


def test_a_driver_without_signs_of_life_is_dead_until_its_next_one(sqlite, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(database.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(database, "BEAT", 1e6)
    with open_journal(sqlite) as one, open_journal(sqlite) as other:
        driver = one._store.driver

        def is_alive_after(seconds):
            now[0] += seconds
            return other._store.is_alive(driver)

        assert is_alive_after(0.0)
        assert is_alive_after(database.LEASE - 1.0)
        assert not is_alive_after(2.0)
        one._store._database.beat(driver, 7)
        assert is_alive_after(2.0)
        assert is_alive_after(database.LEASE - 1.0)
        assert not is_alive_after(2.0)


def test_a_driver_that_loses_its_connection_ends(postgresql, monkeypatch):
    monkeypatch.setattr(database, "LOOK", 0.05)
    place = f"{postgresql}#lost"
    with open_journal(place) as one:
        one.record_proposal(0, params_of(0), None)
        assert one.claim(0)
        others = "pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'owner'"
        execute(place, f"SELECT pg_terminate_backend(pid, 10000) FROM {others}")
        with pytest.raises(OSError, match="cannot be used: .*connection"):
            one.record_result(trial_of(0))
    with open_journal(place) as other:
        assert other.claim(0)


def claim_all(url, sending, n_trials):
    with open_journal(url) as journal:
        for number in range(n_trials):
            journal.record_proposal(number, params_of(number), None)
            if journal.claim(number):
                sending.send(number)
                journal.record_result(trial_of(number))


@fork
def test_of_several_drivers_one_gets_a_trial(url):
    context, n_trials = multiprocessing.get_context("fork"), 8
    receiving, sending = context.Pipe(duplex=False)
    drivers = [
        context.Process(target=claim_all, args=(url, sending, n_trials))
        for _ in range(3)
    ]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
        assert driver.exitcode == 0
    claimed = [receiving.recv() for _ in range(n_trials)]
    assert not receiving.poll()
    assert sorted(claimed) == list(range(n_trials))


@fork
def test_a_forked_child_writes_nothing(url):
    def go_on(journal):
        record(journal, [0])
        journal.close()

    with open_journal(url) as journal:
        in_child(go_on, journal)
        assert journal.record_proposal(0, params_of(0), None)
        journal.record_result(trial_of(0, score=3.0))
    assert list(load_history(url)["score"]) == [3.0]


# -- searches ---------------------------------------------------------------------


@fork
def test_killed_drivers_find_the_trials_of_one_process(url):
    address, _, table = url.partition("#")
    kind, n_jobs = (BayesSearchCV, None) if table else (MultiStageSearchCV, 2)
    attack = Attack(kind, address, n_jobs, seed=1)
    found = attack.run(table or "attacked", max_kills=3)
    assert found["held"] == found["tried"]


def take_part(path, make, journal):
    Path(path).write_text(table_of(make(journal).fit(X, y)))


def with_racing(journal):
    return search(journal, racing=0.45, cv=4, n_iter=15, pre_dispatch=4)


def with_turns(journal):
    return HyperTuneSearchCV(
        Slow(random_state=0),
        {"max_depth": (1, 6), "min_samples_leaf": (1, 30)},
        complexity={"max_depth": 1},
        n_subsets=2,
        n_iter=8,
        cv=2,
        pre_dispatch=3,
        random_state=0,
        journal=journal,
    )


@fork
@pytest.mark.parametrize("make", [with_racing, with_turns])
def test_drivers_find_the_trials_of_one_process(make, sqlite, tmp_path):
    context = multiprocessing.get_context("fork")
    paths = [str(tmp_path / f"{k}.txt") for k in range(2)]
    drivers = [
        context.Process(target=take_part, args=(path, make, sqlite)) for path in paths
    ]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    expected = table_of(make(None).fit(X, y))
    assert "pruned" in expected or make is not with_racing
    assert [Path(path).read_text() for path in paths] == [expected] * 2


def test_a_different_proposal_of_another_driver_counts(sqlite, monkeypatch):
    plain, lost = Journal.record_proposal, []

    def late(self, number, params, improvement):
        if number == 4 and not lost:
            with Journal(sqlite, **arguments) as other:
                changed = {**params.params, "C": params.params["C"] * 0.999}
                assert plain(other, number, changed, 0.125)
                lost.append(changed)
        return plain(self, number, params, improvement)

    made = Journal.__init__

    def remember(self, path, **given):
        arguments.update(given)
        made(self, path, **given)

    arguments = {}
    monkeypatch.setattr(Journal, "__init__", remember)
    monkeypatch.setattr(Journal, "record_proposal", late)
    fitted = search(sqlite).fit(X, y)
    assert [fitted.trials_[4].params] == lost
    assert fitted.trials_[4].expected_improvement == 0.125
    assert len(fitted.trials_) == 8


def test_a_search_continues_and_is_read_from_its_table(url):
    first = search(url, n_iter=5).fit(X, y)
    second = search(url).fit(X, y)
    assert table_of(second) == whole_table()
    times = [fitted.cv_results_["mean_fit_time"][:5] for fitted in (first, second)]
    assert np.array_equal(*times)
    assert list(load_history(url)["score"]) == [t.score for t in second.trials_]
    assert isinstance(advice(url), list)
    warm = BayesSearchCV(SVC(), SPACE, n_iter=1, cv=2, warm_start_from=url)
    assert warm.fit(X, y).trials_[0].params == second.best_params_
    again = pickle.loads(pickle.dumps(second))
    assert table_of(again.fit(X, y)) == table_of(second)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"pre_dispatch": "2*n_jobs"}, "requires an int for pre_dispatch"),
        ({"timeout": 60}, "cannot be combined with timeout"),
        ({"refit": "ensemble"}, "cannot be combined with refit='ensemble'"),
    ],
)
def test_what_drivers_cannot_share_is_refused(options, message, sqlite, tmp_path):
    with pytest.raises(ValueError, match=message):
        search(sqlite, **options).fit(X[:100], y[:100])
    assert not list(tmp_path.iterdir())


def test_callbacks_are_refused(sqlite):
    pytest.importorskip("sklearn.callback")
    model = search(sqlite).set_callbacks(Recorder())
    with pytest.raises(ValueError, match="cannot be combined with callbacks"):
        model.fit(X, y)


# -- errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        ("nonsense://host/database", ValueError, "not the URL of a database"),
        ("postgresql://host:port/database", ValueError, "not the URL of a database"),
        ("sqlite://", ValueError, "in memory"),
        ("sqlite:///:memory:", ValueError, "in memory"),
        ("sqlite:////no/such/folder/file.db", OSError, "cannot be used: unable"),
        ("sqlite:///file.db#a-b", ValueError, "'a-b' is not the name of a table"),
        ("mysql+pymysql://host/database", ImportError, "pymysql"),
    ],
)
def test_wrong_urls_are_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        search(wrong).fit(X, y)


def test_a_missing_server_is_named_without_the_password(tmp_path):
    pytest.importorskip("psycopg")
    place = f"postgresql://me:secret@/database?host={tmp_path}&options=secret"
    with pytest.raises(
        OSError, match="'postgresql://me@/database' cannot be used"
    ) as e:
        search(place).fit(X, y)
    assert "secret" not in str(e.value)


@pytest.mark.parametrize(
    "place, shown",
    [
        ("postgresql://me:p@ss:#1@host/db?sslkey=x#t", "postgresql://me@host/db#t"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("sqlite:////folder/file.db#t", "sqlite:////folder/file.db#t"),
        (Path("folder/search.journal"), os.path.join("folder", "search.journal")),
    ],
)
def test_names_have_no_passwords(place, shown):
    assert display_name(place) == shown


def test_a_missing_package_is_named(sqlite, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(ImportError, match=r"sqlalchemy.*skbayes\[database\]"):
        search(sqlite).fit(X, y)


def test_a_table_of_another_search_is_refused(url):
    search(url, n_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="another table(.|\n)*pre_dispatch: 3 in"):
        search(url, pre_dispatch=2).fit(X, y)
    with pytest.raises(ValueError, match="another search(.|\n)*X: "):
        search(url).fit(X + 1, y)


def test_other_tables_are_refused(sqlite):
    execute(sqlite, "CREATE TABLE other (a INTEGER)")
    with pytest.raises(OSError, match="cannot be used: no such column"):
        search(f"{sqlite}#other").fit(X, y)
    with pytest.raises(FileNotFoundError, match="no table 'absent'"):
        load_history(f"{sqlite}#absent")


def test_reading_creates_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        load_history(f"sqlite:///{tmp_path}/absent.db")
    assert not list(tmp_path.iterdir())


def test_a_changed_row_is_refused_and_the_rows_before_are_saved(url, tmp_path, capsys):
    search(url, n_iter=4).fit(X, y)
    table = url.partition("#")[2] or "skbayes_journal"
    execute(url, f"UPDATE {table} SET digest = 'x' WHERE kind = 'result' AND place > 9")
    for use in (lambda: search(url).fit(X, y), lambda: load_history(url)):
        with pytest.raises(ValueError, match="damaged: row .* its checksum"):
            use()
    saved = str(tmp_path / "saved.journal")
    assert main(["check", url, "--save", saved]) == 1
    assert "Saved" in capsys.readouterr().out
    assert 0 < len(load_history(saved)) <= 4
    assert table_of(search(saved).fit(X, y)) == whole_table()


def test_rights_of_readers_and_drivers(postgresql):
    owned = f"{postgresql}#rights"
    search(owned, n_iter=4).fit(X, y)
    grants = [
        "CREATE ROLE reader LOGIN",
        "CREATE ROLE driver LOGIN",
        "GRANT SELECT ON rights TO reader",
        "GRANT SELECT, INSERT ON rights TO driver",
    ]
    execute(owned, *grants)
    reader, driver = (owned.replace("owner@", f"{r}@") for r in ("reader", "driver"))
    assert len(load_history(reader)) == 4
    assert len(search(reader, n_iter=4).fit(X, y).trials_) == 4
    with pytest.raises(OSError, match="permission denied for table rights"):
        search(reader).fit(X, y)
    assert len(search(driver).fit(X, y).trials_) == 8
    for statement in ("UPDATE rights SET kind = ''", "DELETE FROM rights"):
        with pytest.raises(OSError, match="permission denied"):
            execute(driver, statement)
    with pytest.raises(OSError, match="permission denied for table private"):
        execute(owned, "CREATE TABLE private AS SELECT * FROM rights")
        load_history(reader.replace("#rights", "#private"))
