import contextlib
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from recording_callbacks import Recorder
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from text_workers import mean_length, spread

import skbayes.text.shared_counts
from skbayes import BayesSearchCV, TextRepresentationSearchCV
from skbayes.evaluation.prefix_store import PrefixStore
from skbayes.search import text as text_search
from skbayes.space import Choice, Space
from skbayes.text import LiblinearClassifier, NGramVectorizer, _liblinear
from skbayes.utils.optional import log_once


def _reviews(n, seed=0):
    """Return texts in which some words and pairs of words determine the label."""
    rng = np.random.default_rng(seed)
    filler = [f"w{i}" for i in range(40)] + ["The", "of", "2014", "77", "a"]
    texts, labels = [], []
    for _ in range(n):
        label = int(rng.integers(2))
        words = list(rng.choice(filler, size=int(rng.integers(3, 25))))
        place = int(rng.integers(len(words) + 1))
        words[place:place] = [["not"], []][label] + ["good"]
        words.append(["dull", "lively"][label if rng.random() < 0.8 else 1 - label])
        texts.append(" ".join(words))
        labels.append(label)
    return texts, np.array(labels)


TEXTS, LABELS = _reviews(90)
NEW = _reviews(50, 1)


def _assert_scores_of_the_plain_pipeline(search, texts, y, splits):
    """Check that all trials have the scores of their pipelines on raw texts."""
    for i, params in enumerate(search.cv_results_["params"]):
        plain = clone(search._pipeline()).set_params(**params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = cross_validate(
                plain, texts, y, cv=splits, error_score=np.nan, scoring=search.scoring
            )["test_score"]
        found = [
            search.cv_results_[f"split{k}_test_score"][i] for k in range(len(scores))
        ]
        np.testing.assert_allclose(
            found, scores, rtol=0, atol=1e-9, err_msg=str(params)
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "space, surrogate", [("paper", "tpe"), ("extended", "random"), ("extended", "tpe")]
)
def test_trials_score_as_the_plain_pipeline(space, surrogate):
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(TEXTS, LABELS))
    search = TextRepresentationSearchCV(
        space=space,
        surrogate=surrogate,
        scoring="neg_log_loss",
        cv=splits,
        n_iter=14,
        racing=False,
        random_state=1,
        refit=False,
    ).fit(TEXTS, LABELS)
    _assert_scores_of_the_plain_pipeline(search, TEXTS, LABELS, splits)


@pytest.mark.parametrize(
    "backend, n_points", [("loky", 1), ("threading", 3), ("loky", 3)]
)
def test_workers_find_the_same(backend, n_points):
    arguments = {"n_iter": 9, "cv": 3, "random_state": 0, "pre_dispatch": n_points}
    alone = TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    with parallel_config(backend, n_jobs=2):
        search = TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    assert search.cv_results_["params"] == alone.cv_results_["params"]
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


def test_texts_are_counted_once(monkeypatch):
    counted = []
    count = skbayes.text.shared_counts.count_ngrams

    def counting(stream, pattern, *args):
        counted.append((len(stream.offsets) - 1, pattern))
        return count(stream, pattern, *args)

    monkeypatch.setattr(skbayes.text.shared_counts, "count_ngrams", counting)
    search = TextRepresentationSearchCV(
        space="paper", n_iter=12, cv=3, random_state=0, refit=False
    )
    search.fit(TEXTS, LABELS)
    # All texts, at most once with and once without stop words; no fold on its own.
    assert {n for n, _ in counted} == {len(TEXTS)}
    assert len(counted) <= 2 * 3


def test_dev_texts():
    search = TextRepresentationSearchCV(dev=NEW, n_iter=8, random_state=0)
    search.fit(TEXTS, LABELS)
    assert search.n_splits_ == 1
    best = clone(search.best_estimator_).fit(TEXTS, LABELS)
    assert search.best_score_ == pytest.approx(best.score(*NEW), abs=1e-9)
    # Trained on in the end, unless not wanted.
    vectorizer = search.best_estimator_.named_steps["vectorizer"]
    assert vectorizer.n_documents_ == len(TEXTS) + len(NEW[0])
    apart = (
        clone(search)
        .set_params(dev={"texts": NEW[0], "labels": NEW[1], "refit": False})
        .fit(TEXTS, LABELS)
    )
    assert apart.best_params_ == search.best_params_
    vectorizer = apart.best_estimator_.named_steps["vectorizer"]
    assert vectorizer.n_documents_ == len(TEXTS)


def test_dev_texts_and_folds():
    search = TextRepresentationSearchCV(
        dev=NEW, cv=3, n_iter=3, racing=False, refit=False, random_state=0
    ).fit(TEXTS, LABELS)
    assert search.n_splits_ == 4
    best = clone(search._pipeline()).set_params(**search.best_params_)
    folds = cross_validate(best, TEXTS, LABELS, cv=3)["test_score"]
    on_dev = best.fit(TEXTS, LABELS).score(*NEW)
    assert search.best_score_ == pytest.approx(np.mean([on_dev, *folds]), abs=1e-9)


def test_folds_of_few_texts_are_drawn_twice():
    search = TextRepresentationSearchCV(n_iter=2, refit=False, random_state=0)
    search.fit(TEXTS, LABELS)
    assert search.n_splits_ == 10
    once = clone(search).set_params(return_folds="predict", racing=False, refit=True)
    once.fit(TEXTS, LABELS)
    assert once.n_splits_ == 5
    assert len(once.oof_predictions_) == len(TEXTS)


def test_many_texts_are_sampled_first(monkeypatch):
    monkeypatch.setattr(text_search, "MANY_TEXTS", 80)
    monkeypatch.setattr(text_search, "SAMPLE", 30)
    search = TextRepresentationSearchCV(n_iter=8, random_state=0)
    search.fit(TEXTS, LABELS)
    assert search.n_splits_ == 1
    shares = search.all_cv_results_["train_fraction"].tolist()
    assert shares == pytest.approx([30 / 72] * 6 + [1.0] * 2)
    vectorizer = search.best_estimator_.named_steps["vectorizer"]
    assert vectorizer.n_documents_ == len(TEXTS)


def test_a_class_of_one_text_among_many(monkeypatch):
    monkeypatch.setattr(text_search, "MANY_TEXTS", 80)
    labels = LABELS.copy()
    labels[0] = 2
    search = TextRepresentationSearchCV(stages=(1.0,), n_iter=2, random_state=0)
    assert search.fit(TEXTS, labels).n_splits_ == 1


def test_several_labels_for_each_text():
    labels = np.column_stack([LABELS, 1 - LABELS, np.arange(len(LABELS)) % 2])
    search = TextRepresentationSearchCV(
        OneVsRestClassifier(LogisticRegression()),
        {"estimator__C": [1.0, 10.0]},
        n_iter=2,
        random_state=0,
    ).fit(TEXTS, labels)
    assert search.n_splits_ == 10
    assert search.predict(NEW[0]).shape == (len(NEW[0]), 3)


# -- ensembles ----------------------------------------------------------------------


def test_an_ensemble_averages_the_best_trials():
    search = TextRepresentationSearchCV(
        n_iter=6, cv=3, ensemble=3, racing=False, random_state=0
    ).fit(TEXTS, LABELS)
    results = search.cv_results_
    order = np.argsort(-results["mean_test_score"], kind="stable")[:3]
    assert order[0] == search.best_index_
    expected = np.mean(
        [
            clone(search._pipeline())
            .set_params(**results["params"][row])
            .fit(TEXTS, LABELS)
            .predict_proba(NEW[0])
            for row in order
        ],
        axis=0,
    )
    np.testing.assert_allclose(search.predict_proba(NEW[0]), expected, atol=1e-12)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(NEW[0]), search.predict(NEW[0]))
    alone = clone(search).set_params(ensemble=1).fit(TEXTS, LABELS)
    assert alone.best_params_ == search.best_params_
    assert alone.best_score_ == search.best_score_


def test_an_ensemble_is_no_larger_than_the_trials():
    search = TextRepresentationSearchCV(
        n_iter=2, cv=3, ensemble=9, racing=False, random_state=0
    )
    with pytest.warns(UserWarning, match="ensemble=9: only 2 configurations"):
        search.fit(TEXTS, LABELS)
    assert len(search.best_estimator_.estimators_) == 2


def test_an_ensemble_of_string_labels_and_the_best_of_two_metrics():
    names = np.array(["bad", "good"])[LABELS]
    search = TextRepresentationSearchCV(
        n_iter=4,
        cv=3,
        ensemble=2,
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
        random_state=0,
    ).fit(TEXTS, names)
    assert set(search.predict(NEW[0])) <= {"bad", "good"}
    assert search.classes_.tolist() == ["bad", "good"]


@pytest.mark.parametrize(
    "arguments, labels, reason",
    [
        ({"estimator": LiblinearClassifier(loss="hinge")}, LABELS, "no predict_proba"),
        ({"refit": lambda results: 0}, LABELS, "refit is a callable"),
        (
            {"estimator": LiblinearClassifier(class_weight={0: 2.0})},
            LABELS,
            "class_weight is a dict",
        ),
        (
            {"estimator": OneVsRestClassifier(LogisticRegression())},
            np.column_stack([LABELS, 1 - LABELS]),
            "several labels",
        ),
    ],
)
def test_an_ensemble_that_is_impossible_is_refused(arguments, labels, reason):
    search = TextRepresentationSearchCV(**arguments, ensemble=2)
    with pytest.raises(ValueError, match=rf"ensemble=2 .*{reason}"):
        search.fit(TEXTS, labels)


def test_members_of_an_ensemble_differ_and_are_allowed():
    search = TextRepresentationSearchCV(
        stages=(0.5, 1.0),
        n_iter=12,
        cv=3,
        ensemble=2,
        constraints={"fit_time": "<= 1000"},
        racing=False,
        random_state=0,
    ).fit(TEXTS, LABELS)
    members = search.best_estimator_.estimators_
    assert len(members) == 2
    first, second = (
        {name: one.get_params()[name] for name in search.best_params_}
        for one in members
    )
    assert first == search.best_params_ != second
    # What is shipped starts no workers.
    assert all(one[-1].n_jobs is None for one in members)


def test_workers_of_the_final_fit_are_not_shipped():
    labels = np.arange(len(TEXTS)) % 3
    search = TextRepresentationSearchCV(n_iter=2, cv=2, n_jobs=2, random_state=0)
    assert search.fit(TEXTS, labels).best_estimator_[-1].n_jobs is None


def test_best_estimator_is_a_plain_pipeline_on_raw_texts():
    search = TextRepresentationSearchCV(n_iter=6, cv=2, random_state=0)
    best = search.fit(TEXTS, LABELS).best_estimator_
    assert type(best) is Pipeline
    assert [type(step) for _, step in best.steps] == [
        NGramVectorizer,
        LiblinearClassifier,
    ]
    assert len(pickle.dumps(best)) < 200_000
    again = pickle.loads(pickle.dumps(search))
    expected = best.predict_proba(NEW[0])
    np.testing.assert_array_equal(again.predict_proba(NEW[0]), expected)
    assert search.classes_.tolist() == [0, 1]
    assert search.score(*NEW) == np.mean(search.predict(NEW[0]) == NEW[1])


@pytest.mark.parametrize(
    "container", [tuple, np.array, pd.Series, pl.Series], ids=lambda c: c.__module__
)
def test_containers(container):
    arguments = {"n_iter": 3, "cv": 2, "random_state": 0}
    expected = TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    labels = LABELS if container is tuple else container(LABELS)
    found = TextRepresentationSearchCV(**arguments).fit(container(TEXTS), labels)
    assert found.best_score_ == expected.best_score_
    assert found.predict(container(NEW[0])).tolist() == found.predict(NEW[0]).tolist()


def test_labels_may_be_words():
    labels = np.array(["bad", "fine"])[LABELS]
    search = TextRepresentationSearchCV(n_iter=3, cv=2, random_state=0)
    assert set(search.fit(TEXTS, labels).predict(NEW[0])) <= {"bad", "fine"}


@pytest.mark.parametrize(
    "estimator, space",
    [
        (LinearSVC(dual="auto"), {"C": (1e-2, 1e2, "log-uniform")}),
        (MultinomialNB(), {"classifier__alpha": [0.1, 1.0]}),
    ],
    ids=["svm", "bayes"],
)
def test_other_learners(estimator, space):
    search = TextRepresentationSearchCV(
        estimator, {**space, "ngram_range": [(1, 1), (1, 2)]}, n_iter=5, random_state=0
    ).fit(TEXTS, LABELS)
    assert type(search.best_estimator_.named_steps["classifier"]) is type(estimator)
    (parameter,) = (name.split("__")[-1] for name in space)
    assert f"classifier__{parameter}" in search.best_params_
    ranges = {p["vectorizer__ngram_range"] for p in search.cv_results_["params"]}
    assert ranges <= {(1, 1), (1, 2)}


def test_pipelines_of_ones_own():
    pipeline = Pipeline(
        [
            ("ngrams", NGramVectorizer()),
            ("select", SelectKBest(chi2, k=10)),
            ("svm", LinearSVC(dual="auto")),
        ]
    )
    search = TextRepresentationSearchCV(
        pipeline,
        {"C": [0.1, 1.0], "select__k": (5, 30)},
        space="paper",
        n_iter=6,
        random_state=0,
    ).fit(TEXTS, LABELS)
    assert {"ngrams__weighting", "select__k", "svm__C"} <= set(search.best_params_)


def test_other_transformers_get_the_texts():
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
    grid = {"countvectorizer__ngram_range": [(1, 1), (1, 2)]}
    search = TextRepresentationSearchCV(pipeline, grid, space=None, cv=3)
    expected = BayesSearchCV(pipeline, grid, cv=3)
    for one in (search, expected):
        one.fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_scorers_get_the_texts():
    search = TextRepresentationSearchCV(
        n_iter=2,
        cv=[(np.arange(60), np.arange(60, 90))],
        scoring=mean_length,
        random_state=0,
    ).fit(TEXTS, LABELS)
    expected = np.mean([len(text) for text in TEXTS[60:]])
    assert search.best_score_ == pytest.approx(expected)


def test_clustering_without_labels():
    search = TextRepresentationSearchCV(
        KMeans(n_init=1, random_state=0),
        {"n_clusters": [2, 3, 4]},
        scoring=spread,
        n_iter=6,
        cv=2,
        random_state=0,
    ).fit(TEXTS)
    assert search.best_score_ > -1
    assert search.predict(NEW[0]).shape == (len(NEW[0]),)
    search.set_params(cv=None, dev=(NEW[0], None)).fit(TEXTS)
    assert search.n_splits_ == 1


def test_extended_search_begins_with_what_is_known_to_be_good():
    search = TextRepresentationSearchCV(
        space="extended", n_iter=4, cv=2, random_state=0, refit=False
    ).fit(TEXTS, LABELS)
    kinds = [p["vectorizer__analyzer"] for p in search.cv_results_["params"]]
    assert kinds == ["word", "char", "word", "word"]
    # As far as it is in the space.
    search.set_params(search_spaces={"analyzer": ["char"]}).fit(TEXTS, LABELS)
    kinds = {p["vectorizer__analyzer"] for p in search.cv_results_["params"]}
    assert kinds == {"char"}


def test_other_languages():
    texts = ["यह फिल्म अच्छी है", "बहुत अच्छी फिल्म", "यह फिल्म बुरी है", "बहुत बुरी फिल्म"] * 3
    search = TextRepresentationSearchCV(
        search_spaces={"ngram_range": [(1, 1)]},
        language="hindi",
        space="paper",
        n_iter=6,
        cv=2,
        random_state=0,
    ).fit(texts, [1, 1, 0, 0] * 3)
    assert search.predict(["अच्छी", "बुरी"]).tolist() == [1, 0]
    offered = {p["vectorizer__stop_words"] for p in search.cv_results_["params"]}
    assert offered == {None, "hindi"}


@pytest.mark.parametrize("n_stages", [1, 2])
@pytest.mark.parametrize("many", [80, 10_000])
def test_trials_per_stage_decide_how_many_stages_there_are(n_stages, many, monkeypatch):
    monkeypatch.setattr(text_search, "MANY_TEXTS", many)
    search = TextRepresentationSearchCV(
        n_iter=[2, 1][:n_stages], cv=2, refit=False, random_state=0
    ).fit(TEXTS, LABELS)
    assert set(search.all_cv_results_["stage"]) == set(range(n_stages))


def test_what_is_added_to_the_space_keeps_the_first_representations():
    search = TextRepresentationSearchCV(
        search_spaces={"min_df": [1, 2], "class_weight": [None, "balanced"]},
        n_iter=4,
        cv=2,
        refit=False,
        random_state=0,
    ).fit(TEXTS, LABELS)
    kinds = [p["vectorizer__analyzer"] for p in search.cv_results_["params"]]
    assert kinds == ["word", "char", "word", "word"]
    assert {p["vectorizer__min_df"] for p in search.cv_results_["params"]} == {1}


def test_own_stop_words():
    search = TextRepresentationSearchCV(
        search_spaces={"stop_words": [None, ("of", "the")]},
        space="paper",
        n_iter=6,
        cv=2,
        random_state=0,
    ).fit(TEXTS, LABELS)
    offered = {p["vectorizer__stop_words"] for p in search.cv_results_["params"]}
    assert offered == {None, ("of", "the")}


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_configuration_without_ngrams_costs_its_trial_only():
    search = TextRepresentationSearchCV(
        search_spaces={"max_df": [0.0, 1.0]},
        n_iter=8,
        cv=2,
        racing=False,
        random_state=0,
    )
    with pytest.warns(FitFailedWarning, match="max_df corresponds to"):
        search.fit(TEXTS, LABELS)
    failed = [p["vectorizer__max_df"] == 0.0 for p in search.cv_results_["params"]]
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == failed
    assert 0 < sum(failed) < 8


@pytest.mark.parametrize("cache_limit", [1, 50_000])
def test_counts_that_find_no_room_change_nothing(tmp_path, cache_limit):
    arguments = {"n_iter": 4, "cv": 2, "random_state": 0}
    expected = TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    search = TextRepresentationSearchCV(**arguments, cache=cache_limit)
    with parallel_config(temp_folder=str(tmp_path)):
        with pytest.warns(UserWarning, match="share were computed again"):
            search.fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert not list(tmp_path.iterdir())


def _remove(path):
    os.unlink(path)


def _truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


@pytest.mark.parametrize("spoil", [_remove, _truncate])
def test_counts_that_cannot_be_read_change_nothing(spoil, monkeypatch):
    arguments = {"n_iter": 4, "cv": 2, "random_state": 0, "scoring": "neg_log_loss"}
    expected = TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    mapped, spoiled = PrefixStore._mapped, []

    def read(store, key):
        path = os.path.join(store.folder, key)
        if os.path.exists(path) and len(spoiled) % 3:
            spoil(path)
        spoiled.append(path)
        return mapped(store, key)

    monkeypatch.setattr(PrefixStore, "_mapped", read)
    found = TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    assert len(spoiled) > 10
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


_KILLED = """
import os, sys
from pathlib import Path
from skbayes import TextRepresentationSearchCV
texts, labels = 20 * ["a good film", "a dull film"], 20 * [1, 0]

def kill(trials):
    assert list(Path(sys.argv[1]).glob("skbayes-prefixes-*/*"))
    os.kill(os.getpid(), 9)

TextRepresentationSearchCV(n_iter=4, cv=2, stopper=kill, n_jobs=int(sys.argv[2])).fit(
    texts, labels
)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_next_search_removes_what_a_killed_one_left(tmp_path, n_jobs):
    places = {
        "JOBLIB_TEMP_FOLDER": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with open(tmp_path / "printed", "w+") as printed:
        done = subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(tmp_path), str(n_jobs)],
            stderr=printed,
            env={**os.environ, **places},
            start_new_session=True,
        )
        assert done.wait() == -9, printed.seek(0) or printed.read()
    # The workers of joblib would wait for tasks.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(done.pid, 9)
    with parallel_config(temp_folder=str(tmp_path)):
        TextRepresentationSearchCV(n_iter=2, cv=2, random_state=0).fit(TEXTS, LABELS)
    assert not list(tmp_path.glob("skbayes-prefixes-*"))


def test_nothing_is_shared_without_a_cache(counting, tmp_path):
    arguments = {"n_iter": 4, "cv": 2, "random_state": 0, "scoring": "neg_log_loss"}
    expected = TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    search = TextRepresentationSearchCV(**arguments, cache=False)
    with parallel_config(temp_folder=str(tmp_path / "unused")):
        search.fit(TEXTS, LABELS)
    assert counting == ["counted", "removed"]
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_first_steps_without_a_vectorizer_of_this_package_are_shared(counting):
    pipeline = Pipeline([("tfidf", TfidfVectorizer()), ("model", LogisticRegression())])
    arguments = {"cv": 3, "n_iter": 5, "random_state": 0, "space": None}
    space = {"C": (0.1, 10.0, "log-uniform")}
    search = TextRepresentationSearchCV(pipeline, space, **arguments)
    search.fit(TEXTS, LABELS)
    assert counting == []
    assert all(trial.shared_time > 0.0 for trial in search.trials_[1:])
    plain = clone(search).set_params(cache=False).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


def test_a_vectorizer_among_the_values_of_a_step_has_counts(counting):
    pipeline = Pipeline(
        [("ngrams", TfidfVectorizer()), ("model", LogisticRegression())]
    )
    space = {"ngrams": [TfidfVectorizer(), NGramVectorizer()], "C": [0.1, 1.0]}
    TextRepresentationSearchCV(
        pipeline, space, space=None, cv=2, n_iter=4, random_state=0
    ).fit(TEXTS, LABELS)
    assert counting == ["counted", "removed"]


def test_kept_estimators_take_raw_texts():
    search = TextRepresentationSearchCV(
        n_iter=4,
        cv=3,
        random_state=0,
        return_folds=["estimators", "predict"],
    ).fit(TEXTS, LABELS)
    splits = StratifiedKFold(3).split(TEXTS, LABELS)
    for (_, test), estimator in zip(splits, search.fold_estimators_, strict=True):
        found = estimator.predict([TEXTS[i] for i in test])
        np.testing.assert_array_equal(search.oof_predictions_[test], found)


def test_journal(tmp_path):
    path = tmp_path / "journal"
    search = TextRepresentationSearchCV(
        n_iter=4, cv=2, random_state=0, journal=path, space="extended"
    ).fit(TEXTS, LABELS)
    again = clone(search).set_params(n_iter=6).fit(TEXTS, LABELS)
    first = search.cv_results_["params"]
    assert again.cv_results_["params"][:4] == first
    assert len(again.cv_results_["params"]) == 6
    with pytest.raises(ValueError, match="journal"):
        clone(search).fit(TEXTS[::-1], LABELS)


def test_nested():
    search = TextRepresentationSearchCV(n_iter=2, cv=2, random_state=0)
    scores = cross_val_score(search, np.array(TEXTS), LABELS, cv=2)
    assert np.all(scores > 0.4)
    assert is_classifier(search)
    assert not is_classifier(TextRepresentationSearchCV(KMeans()))


def test_parameters_are_left_alone():
    search = TextRepresentationSearchCV(
        search_spaces={"C": [1.0]}, n_iter=2, cv=2, dev=None, random_state=0
    )
    before = dict(vars(search))
    search.fit(TEXTS, LABELS)
    assert {name: vars(search)[name] for name in before} == before
    clone(search)


@pytest.mark.parametrize(
    "X, y, kind, message",
    [
        (TEXTS, LABELS[:-1], ValueError, "inconsistent.*90 texts, 89 labels"),
        (TEXTS, None, ValueError, "y must be given"),
        (TEXTS, np.zeros(90), ValueError, "one class only"),
        (
            TEXTS,
            [*LABELS[:-1], None],
            ValueError,
            "y has a missing value",
        ),
        (
            TEXTS,
            [*LABELS[:-1], np.nan],
            ValueError,
            "y has a missing value",
        ),
        ([*TEXTS[:-1], None], LABELS, ValueError, "X has a missing value at position"),
        ([*TEXTS[:-1], 3], LABELS, TypeError, "got 3 of type int at position 89"),
        ("text", [1], ValueError, "string object received"),
        ([" "] * 90, LABELS, ValueError, "all texts are empty"),
        (np.zeros((90, 2)), LABELS, ValueError, "one-dimensional"),
    ],
)
def test_bad_data(X, y, kind, message):
    with pytest.raises(kind, match=message):
        TextRepresentationSearchCV().fit(X, y)


def test_empty_texts_are_told_of():
    search = TextRepresentationSearchCV(n_iter=2, cv=2, random_state=0)
    with pytest.warns(UserWarning, match="X: 1 of 90 texts are empty.*position 3"):
        search.fit([*TEXTS[:3], " ", *TEXTS[4:]], LABELS)


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        ({"ensemble": 0}, ValueError, "ensemble"),
        ({"stages": "some"}, ValueError, "stages"),
        ({"dev": (TEXTS,)}, ValueError, "dev must be a pair"),
        ({"dev": (NEW[0], NEW[1][:-1])}, ValueError, r"dev\[0\] and dev\[1\]"),
        ({"dev": (NEW[0], None)}, ValueError, "labels if and only if y is given"),
        ({"dev": ([3], [1])}, TypeError, r"dev\[0\] must contain texts"),
        ({"dev": (NEW[0], NEW[1].astype(str))}, ValueError, "none of its labels"),
        ({"space": "huge"}, ValueError, "space"),
        ({"space": None}, ValueError, "search_spaces must be given"),
        ({"search_spaces": [{"C": [1]}]}, TypeError, "search_spaces must be a dict"),
        ({"search_spaces": {"D": [1]}}, ValueError, "search_spaces names 'D'"),
        ({"language": "klingon"}, ValueError, "language='klingon'"),
        ({"dev": {"X": NEW[0]}}, ValueError, "dev must have the keys"),
        ({"cache": 0}, ValueError, "cache"),
        (
            {"estimator": make_pipeline(CountVectorizer(), MultinomialNB())},
            ValueError,
            "requires an NGramVectorizer",
        ),
    ],
)
def test_bad_arguments(arguments, kind, message):
    with pytest.raises(kind, match=message):
        TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)


def test_fit_parameters_need_cv():
    search = TextRepresentationSearchCV(MultinomialNB(), dev=NEW)
    with pytest.raises(ValueError, match="classifier__sample_weight.*use cv"):
        search.fit(TEXTS, LABELS, classifier__sample_weight=np.ones(90))
    search = TextRepresentationSearchCV(MultinomialNB(), n_iter=2, random_state=0)
    search.fit(TEXTS, LABELS, classifier__sample_weight=np.ones(90))
    assert search.best_score_ > 0.5


def test_space_objects_are_taken_as_they_are():
    space = Space.from_notation({"classifier__C": [0.1, 1.0]})
    search = TextRepresentationSearchCV(search_spaces=space, space=None, cv=2)
    assert len(search.fit(TEXTS, LABELS).cv_results_["params"]) == 2


def test_stages():
    arguments = {"n_iter": 12, "cv": 3, "random_state": 0}
    search = TextRepresentationSearchCV(**arguments, stages=(0.4, 1.0))
    search.fit(TEXTS, LABELS)
    assert search.all_cv_results_["stage"].tolist() == [0] * 9 + [1] * 3
    splits = list(StratifiedKFold(3).split(TEXTS, LABELS))
    _assert_scores_of_the_plain_pipeline(search, TEXTS, LABELS, splits)


def test_callbacks_see_every_fit():
    pytest.importorskip("sklearn.callback", reason="callbacks exist since 1.9")
    recorder = Recorder()
    search = TextRepresentationSearchCV(n_iter=2, cv=3, random_state=0)
    search.set_callbacks(recorder).fit(TEXTS, LABELS)
    events = [(hook, path[-1]) for hook, path, *_ in recorder.events if path]
    begun = [task for hook, task in events if hook == "begin"]
    assert sum("candidate-split-evaluation" in str(task) for task in begun) == 6
    assert [hook for hook, *_ in recorder.events].count("setup") == 1


def test_routing():
    with config_context(enable_metadata_routing=True):
        learner = MultinomialNB().set_fit_request(sample_weight=True)
        # Not by the pipeline's own score: before scikit-learn 1.7 that asks for weights
        # in its own name.
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = TextRepresentationSearchCV(
            learner,
            {"ngram_range": [(1, 1)]},
            n_iter=3,
            cv=2,
            scoring=scorer,
            random_state=0,
        )
        assert "sample_weight" in str(search.get_metadata_routing())
        weights = np.where(LABELS == 1, 1.0, 1e-9)
        search.fit(TEXTS, LABELS, sample_weight=weights)
        assert np.mean(search.predict(NEW[0])) > 0.9


# -- packages that are not installed ------------------------------------------------


@pytest.fixture
def bare(monkeypatch):
    """Simulate an installation of skbayes without its extras."""
    cached = (_liblinear._is_installed, log_once)
    for module in ("snowballstemmer", "stop_words", "liblinear", "liblinear.liblinear"):
        monkeypatch.setitem(sys.modules, module, None)
    for one in cached:
        one.cache_clear()
    yield
    for one in cached:
        one.cache_clear()


def test_a_bare_installation_is_enough(bare, caplog):
    search = TextRepresentationSearchCV(n_iter=5, cv=2, random_state=0)
    search.fit(TEXTS, LABELS)
    assert search.score(*NEW) > 0.8
    classifier = search.best_estimator_.named_steps["classifier"]
    assert classifier.library_ == "scikit-learn"
    clone(search).fit(TEXTS, LABELS)
    # What is missing is said once, with its remedy.
    assert len(caplog.records) == 2
    assert all("skbayes[text]" in record.message for record in caplog.records)


def _unwanted(*args, **kwargs):
    raise AssertionError("fitted all the same")


@pytest.mark.parametrize(
    "arguments, purpose",
    [
        ({"language": "german"}, "stemming"),
        ({"search_spaces": {"stemmer": [None, "english"]}}, "stemming"),
        ({"search_spaces": {"stop_words": [None, "german"]}}, "stop words of 'german'"),
        (
            {
                "space": None,
                "estimator": make_pipeline(
                    NGramVectorizer(stemmer="english"), LinearSVC()
                ),
            },
            "stemming",
        ),
        (
            {"estimator": LiblinearClassifier(dual=False, penalize_intercept=False)},
            "penalize_intercept=False",
        ),
        ({"surrogate": "trees"}, "surrogate='trees'"),
        ({"verbose": "progress"}, "verbose='progress'"),
    ],
)
def test_a_missing_package_is_one_error_before_the_first_fit(
    arguments, purpose, bare, monkeypatch
):
    for module in ("lightgbm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, module, None)
    search = TextRepresentationSearchCV(
        **{"search_spaces": {"C": [1.0]}, **arguments},
        n_iter=2,
        error_score="raise",
        random_state=0,
    )
    monkeypatch.setattr(Pipeline, "fit", _unwanted)
    with pytest.raises(ImportError, match=rf'{purpose}.*pip install "skbayes\['):
        search.fit(TEXTS, LABELS)


def test_a_journal_of_another_space_is_refused(tmp_path, request):
    search = TextRepresentationSearchCV(
        n_iter=2, cv=2, random_state=0, journal=tmp_path / "journal"
    ).fit(TEXTS, LABELS)
    request.getfixturevalue("bare")
    with pytest.raises(ValueError, match="search_spaces"):
        clone(search).fit(TEXTS, LABELS)


@pytest.fixture
def counting(monkeypatch):
    """Record when counts of the texts are created and deleted."""
    events = []

    @contextlib.contextmanager
    def recorded(*args, **options):
        with skbayes.text.shared_counts.counted_texts(*args, **options) as counted:
            events.append("counted")
            try:
                yield counted
            finally:
                events.append("removed")

    monkeypatch.setattr("skbayes.search.text.counted_texts", recorded)
    return events


def test_wrong_arguments_are_refused_before_texts_are_counted(counting):
    search = TextRepresentationSearchCV(search_spaces={"vectorizer__wrong": [1, 2]})
    with pytest.raises(ValueError, match="vectorizer__wrong"):
        search.fit(TEXTS, LABELS)
    assert counting == []


def test_counts_are_removed_before_the_refit(counting, monkeypatch):
    def refit(*args):
        counting.append("refit")

    monkeypatch.setattr("skbayes.search.text._CountingSearch._refit", refit)
    TextRepresentationSearchCV(n_iter=2, cv=2, random_state=0).fit(TEXTS, LABELS)
    assert counting == ["counted", "removed", "refit"]


def test_counts_are_removed_after_an_error(counting):
    def stopper(trials):
        raise ZeroDivisionError

    search = TextRepresentationSearchCV(n_iter=2, cv=2, stopper=stopper)
    with pytest.raises(ZeroDivisionError):
        search.fit(TEXTS, LABELS)
    assert counting == ["counted", "removed"]


def test_the_best_trial_is_marked_in_the_report(tmp_path):
    search = TextRepresentationSearchCV(n_iter=4, cv=2, random_state=0)
    search.fit(TEXTS, LABELS)
    assert search.report(tmp_path / "report.html").exists()


def test_a_penalty_in_the_space_needs_the_primal_problem():
    search = TextRepresentationSearchCV(
        search_spaces={"penalty": ["l1", "l2"]},
        n_iter=8,
        cv=2,
        error_score="raise",
        surrogate="random",
        random_state=0,
    ).fit(TEXTS, LABELS)
    tried = {params["classifier__penalty"] for params in search.cv_results_["params"]}
    assert tried == {"l1", "l2"}
    assert not search._pipeline()[-1].dual
    nested = Choice({"l1": {"penalize_intercept": [True]}, "l2": {}})
    spaces: list = [{"classifier__penalty": nested}]
    assert not TextRepresentationSearchCV(None, spaces, space=None)._pipeline()[-1].dual
    assert TextRepresentationSearchCV()._pipeline()[-1].dual
