import contextlib
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from counting_steps import sharing
from endings import kill_after
from joblib import parallel_config
from processes import mean_length, spread
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

import skbayes.text.counts
from skbayes import BayesSearchCV, TextRepresentationSearchCV
from skbayes.space import Choice, Space
from skbayes.text import LiblinearClassifier, NGramVectorizer
from skbayes.text import search as text_search

SMOOTH = {"C": (1e-2, 1e2, "log-uniform")}


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


def _search(*args, **params):
    arguments = {"n_iter": 2, "cv": 2, "random_state": 0, **params}
    return TextRepresentationSearchCV(*args, **arguments)


def _fitted(*args, **params):
    return _search(*args, **params).fit(TEXTS, LABELS)


def _values(search, name, step="vectorizer"):
    return [params[f"{step}__{name}"] for params in search.cv_results_["params"]]


def _assert_same_scores(*searches):
    scores = (search.cv_results_["mean_test_score"] for search in searches)
    np.testing.assert_array_equal(*scores)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    [
        {"space": "paper", "surrogate": "tpe", "scoring": "neg_log_loss"},
        {"space": "extended", "surrogate": "random", "scoring": "neg_log_loss"},
        {"stages": (0.4, 1.0)},
    ],
)
def test_trials_score_as_the_plain_pipeline(options):
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(TEXTS, LABELS))
    search = _search(n_iter=6, cv=splits, pruning=False, **options)
    with parallel_config("loky", n_jobs=2):
        search.fit(TEXTS, LABELS)
    if "stages" in options:
        assert search.all_cv_results_["stage"].tolist() == [0] * 4 + [1] * 2
    for i, params in enumerate(search.cv_results_["params"]):
        plain = clone(search.best_estimator_).set_params(**params)
        kwargs = {"cv": splits, "scoring": search.scoring}
        scores = cross_validate(plain, TEXTS, LABELS, **kwargs)["test_score"]
        actual = [search.cv_results_[f"split{k}_test_score"][i] for k in range(3)]
        np.testing.assert_allclose(actual, scores, 0, 1e-9, err_msg=str(params))


def test_texts_are_counted_once(monkeypatch):
    counted = []
    count = skbayes.text.counts.count_ngrams

    def counting(stream, pattern, *args):
        counted.append((len(stream.offsets) - 1, pattern))
        return count(stream, pattern, *args)

    monkeypatch.setattr(skbayes.text.counts, "count_ngrams", counting)
    _fitted(space="paper", n_iter=5, cv=3, refit=False)
    # All texts, at most once with and once without stop words; no fold on its own.
    assert {n for n, _ in counted} == {len(TEXTS)}
    assert len(counted) <= 2 * 3


def test_dev_texts_are_scored_and_then_trained_on():
    search = _fitted(dev=NEW, cv=None, n_iter=4)
    assert search.n_splits_ == 1
    best = clone(search.best_estimator_).fit(TEXTS, LABELS)
    on_dev = best.score(*NEW)
    assert search.best_score_ == pytest.approx(on_dev, abs=1e-9)
    # The final model is trained on it, too.
    assert search.best_estimator_[0].n_documents_ == len(TEXTS) + len(NEW[0])


RARE = np.where(np.arange(90) == 0, 2, LABELS)  # a class of one text
SEVERAL = np.column_stack([LABELS, 1 - LABELS, np.arange(90) % 2])
MULTILABEL = {
    "estimator": OneVsRestClassifier(LogisticRegression()),
    "search_spaces": {"estimator__C": [1.0]},
}


@pytest.mark.parametrize(
    "arguments, labels, many, n_splits",
    [
        ({}, LABELS, 91, 10),  # five folds, drawn twice
        ({"return_folds": "predict", "pruning": False}, LABELS, 91, 5),
        ({}, LABELS, 90, 1),
        ({"stages": (1.0,)}, RARE, 90, 1),
        (MULTILABEL, SEVERAL, 91, 10),
    ],
)
def test_the_number_of_texts_decides_on_the_splits(
    arguments, labels, many, n_splits, monkeypatch
):
    monkeypatch.setattr(text_search, "MANY_TEXTS", many)
    search = _search(cv=None, n_iter=1, **arguments).fit(TEXTS, labels)
    assert search.n_splits_ == n_splits
    assert search.predict(NEW[0]).shape == NEW[1].shape + labels.shape[1:]
    if "return_folds" in arguments:
        assert len(search.oof_predictions_) == len(TEXTS)


@pytest.mark.parametrize(
    "n_iter, many, shares",
    [
        (8, 80, [30 / 72] * 6 + [1.0] * 2),
        ([2], 80, [1.0] * 2),
        ([2, 1], 10_000, [0.5] * 2 + [1.0]),
    ],
)
def test_many_texts_are_sampled_first(n_iter, many, shares, monkeypatch):
    monkeypatch.setattr(text_search, "MANY_TEXTS", many)
    monkeypatch.setattr(text_search, "SAMPLE", 30 if many == 80 else 10_000)
    search = _fitted(cv=None, n_iter=n_iter)
    assert search.all_cv_results_["train_fraction"].tolist() == pytest.approx(shares)
    assert search.best_estimator_[0].n_documents_ == len(TEXTS)


def test_an_ensemble_averages_pipelines(monkeypatch):
    path = "skbayes.options.ensembles.final_model.is_better"
    monkeypatch.setattr(path, lambda gain, std: True)
    names = np.array(["bad", "good"])[LABELS]
    rule = {"rule": "ensemble", "metric": "neg_log_loss"}
    params = {"scoring": ["accuracy", "neg_log_loss"], "refit": rule, "pruning": False}
    search = _search(n_iter=4, cv=3, **params).fit(TEXTS, names)
    ensemble = search.best_estimator_
    assert len(search.ensemble_.weights) <= len(ensemble.estimators_) <= 10
    expected = sum(
        weight * model.predict_proba(NEW[0])
        for weight, model in zip(ensemble.weights_, ensemble.estimators_, strict=True)
    )
    np.testing.assert_allclose(search.predict_proba(NEW[0]), expected, atol=1e-6)
    assert search.classes_.tolist() == ["bad", "good"]
    again = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(again.predict(NEW[0]), search.predict(NEW[0]))
    # The final model does not start workers.
    assert all(model[-1].n_jobs is None for model in ensemble.estimators_)


def test_best_estimator_is_a_plain_pipeline_on_raw_texts(tmp_path):
    search = _search(search_spaces={"C": [1.0]}, n_jobs=2)
    before = dict(vars(search))
    best = search.fit(TEXTS, LABELS).best_estimator_
    assert {name: vars(search)[name] for name in before} == before
    assert type(best) is Pipeline
    steps = [NGramVectorizer, LiblinearClassifier]
    assert [type(step) for _, step in best.steps] == steps
    assert best[-1].n_jobs is None
    assert len(pickle.dumps(best)) < 200_000
    again = pickle.loads(pickle.dumps(search))
    expected = best.predict_proba(NEW[0])
    np.testing.assert_array_equal(again.predict_proba(NEW[0]), expected)
    assert search.classes_.tolist() == [0, 1]
    assert search.score(*NEW) == np.mean(search.predict(NEW[0]) == NEW[1])
    assert search.report(tmp_path / "report.html").exists()


def test_texts_and_labels_in_any_container_give_the_same():
    words = np.array(["bad", "fine"])[LABELS]
    expected = _search(n_iter=1).fit(TEXTS, words)
    assert set(expected.predict(NEW[0])) <= {"bad", "fine"}
    for container in (tuple, np.array, pd.Series, pl.Series):
        labels = words if container is tuple else container(words)
        search = _search(n_iter=1).fit(container(TEXTS), labels)
        assert search.best_score_ == expected.best_score_
        predicted = search.predict(container(NEW[0]))
        assert predicted.tolist() == search.predict(NEW[0]).tolist()


@pytest.mark.parametrize(
    "estimator, space",
    [(LinearSVC(), SMOOTH), (MultinomialNB(), {"classifier__alpha": [0.1, 1.0]})],
)
def test_other_learners_are_tuned_with_ngrams(estimator, space):
    search = _fitted(estimator, {**space, "ngram_range": [(1, 1), (1, 2)]})
    assert type(search.best_estimator_[-1]) is type(estimator)
    (parameter,) = (name.split("__")[-1] for name in space)
    assert f"classifier__{parameter}" in search.best_params_
    assert set(_values(search, "ngram_range")) <= {(1, 1), (1, 2)}


def test_pipelines_of_the_user_keep_their_steps():
    steps = [("ngrams", NGramVectorizer()), ("select", SelectKBest(chi2, k=10))]
    pipeline = Pipeline([*steps, ("svm", LinearSVC())])
    search = _fitted(pipeline, {"C": [0.1, 1.0], "select__k": (5, 30)}, space="paper")
    assert {"ngrams__weighting", "select__k", "svm__C"} <= set(search.best_params_)
    spaces = Space.from_notation({"classifier__C": [0.1, 1.0]})
    search = _fitted(search_spaces=spaces, space=None, n_iter=5)
    assert len(search.cv_results_["params"]) == 2


def test_other_transformers_get_the_texts():
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
    grid = {"countvectorizer__ngram_range": [(1, 1), (1, 2)]}
    expected = BayesSearchCV(pipeline, grid, cv=2).fit(TEXTS, LABELS)
    _assert_same_scores(_fitted(pipeline, grid, space=None), expected)


def test_scorers_and_kept_estimators_get_the_texts():
    folds = {"return_folds": ["estimators", "predict"]}
    search, lengths = _fitted(cv=3, scoring=mean_length, **folds), []
    splits = StratifiedKFold(3).split(TEXTS, LABELS)
    for (_, test), estimator in zip(splits, search.fold_estimators_, strict=True):
        texts = [TEXTS[i] for i in test]
        lengths.append(np.mean([len(text) for text in texts]))
        predicted = estimator.predict(texts)
        np.testing.assert_array_equal(search.oof_predictions_[test], predicted)
    assert search.best_score_ == pytest.approx(np.mean(lengths))


def test_clustering_without_labels():
    model, space = KMeans(n_init=1, random_state=0), {"n_clusters": [2, 3, 4]}
    search = _search(model, space, scoring=spread, n_iter=3).fit(TEXTS)
    assert search.best_score_ > -1
    assert search.predict(NEW[0]).shape == (len(NEW[0]),)
    search.set_params(cv=None, dev=(NEW[0], None)).fit(TEXTS)
    assert search.n_splits_ == 1


def test_an_extended_search_begins_with_learned_configurations():
    search = _fitted(space="extended", n_iter=4, refit=False)
    assert _values(search, "analyzer") == ["word", "char", "word", "word"]
    # Only values inside of the space are used.
    search.set_params(search_spaces={"analyzer": ["char"]}).fit(TEXTS, LABELS)
    assert set(_values(search, "analyzer")) == {"char"}
    added = {"min_df": [1, 2], "class_weight": [None, "balanced"]}
    search.set_params(search_spaces=added).fit(TEXTS, LABELS)
    assert _values(search, "analyzer") == ["word", "char", "word", "word"]
    assert set(_values(search, "min_df")) == {1}


def test_other_languages_and_stop_words():
    texts = ["यह फिल्म अच्छी है", "बहुत अच्छी फिल्म", "यह फिल्म बुरी है", "बहुत बुरी फिल्म"] * 3
    params = {"space": "paper", "n_iter": 6, "search_spaces": {"ngram_range": [(1, 1)]}}
    search = _search(language="hindi", **params).fit(texts, [1, 1, 0, 0] * 3)
    assert search.predict(["अच्छी", "बुरी"]).tolist() == [1, 0]
    assert set(_values(search, "stop_words")) == {None, "hindi"}
    params["search_spaces"] = {"stop_words": [None, ("of", "the")]}
    assert set(_values(_fitted(**params), "stop_words")) == {None, ("of", "the")}


def test_a_configuration_without_ngrams_costs_its_trial_only():
    search = _search(search_spaces={"max_df": [0.0, 1.0]}, n_iter=8, pruning=False)
    with pytest.warns(UserWarning), pytest.warns(match="max_df corresponds to"):
        search.fit(TEXTS, LABELS)
    failed = [value == 0.0 for value in _values(search, "max_df")]
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == failed
    assert 0 < sum(failed) < 8


def test_counts_beyond_the_cache_change_no_result(tmp_path, monkeypatch):
    monkeypatch.setattr(TextRepresentationSearchCV, "_cache_limit", 50_000)
    warns = pytest.warns(UserWarning, match="share were computed again")
    with parallel_config(temp_folder=str(tmp_path)), warns:
        search = _fitted(n_iter=3)
    monkeypatch.undo()
    _assert_same_scores(search, _fitted(n_iter=3))
    assert not list(tmp_path.iterdir())


def test_first_steps_without_a_vectorizer_of_this_package_are_shared(
    counting, monkeypatch
):
    monkeypatch.setattr("skbayes.options.shared_steps.aspect.LEAST_SECONDS", 0.0)
    pipeline = Pipeline([("tfidf", TfidfVectorizer()), ("model", LogisticRegression())])
    search = _fitted(pipeline, SMOOTH, space=None, n_iter=3)
    assert counting == []
    assert all(trial.shared_time > 0.0 for trial in search.trials_[1:])
    with sharing(False):
        plain = _fitted(pipeline, SMOOTH, space=None, n_iter=3)
    _assert_same_scores(search, plain)
    # A vectorizer among the values of a step has counts.
    space = {"tfidf": [TfidfVectorizer(), NGramVectorizer()], "C": [0.1, 1.0]}
    _fitted(pipeline, space, space=None)
    assert counting == ["counted", "removed"]


@pytest.mark.parametrize(
    "X, y, message",
    [
        (TEXTS, LABELS[:-1], "inconsistent.*90 texts, 89 labels"),
        (TEXTS, None, "y must be given"),
        (TEXTS, np.zeros(90), "one class only"),
        (TEXTS, [*LABELS[:-1], None], "y has a missing value"),
        (TEXTS, [*LABELS[:-1], np.nan], "y has a missing value"),
        ([*TEXTS[:-1], None], LABELS, "X has a missing value at position"),
        ([" "] * 90, LABELS, "all texts are empty"),
        (np.zeros((90, 2)), LABELS, "one-dimensional"),
    ],
)
def test_wrong_data_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        TextRepresentationSearchCV().fit(X, y)


def test_empty_texts_give_a_warning():
    with pytest.warns(UserWarning, match="X: 1 of 90 texts are empty.*position 3"):
        _search().fit([*TEXTS[:3], " ", *TEXTS[4:]], LABELS)


COUNTS = make_pipeline(CountVectorizer(), MultinomialNB())


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
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
        ({"search_spaces": {"vectorizer__no": [1]}}, ValueError, "vectorizer__no"),
        ({"language": "klingon"}, ValueError, "language='klingon'"),
        ({"dev": {"texts": NEW[0]}}, ValueError, "a pair such as .texts, labels."),
        ({"dev": NEW, "cv": 3}, ValueError, "dev replaces the splits of cv"),
        ({"estimator": COUNTS}, ValueError, "requires an NGramVectorizer"),
    ],
)
def test_wrong_arguments_are_refused_before_any_count(
    arguments, kind, message, counting
):
    with pytest.raises(kind, match=message):
        TextRepresentationSearchCV(**arguments).fit(TEXTS, LABELS)
    assert counting == []


def test_fit_parameters_need_cv():
    weights = {"classifier__sample_weight": np.ones(90)}
    with pytest.raises(ValueError, match="classifier__sample_weight.*use cv"):
        _search(MultinomialNB(), dev=NEW, cv=None).fit(TEXTS, LABELS, **weights)
    search = _search(MultinomialNB()).fit(TEXTS, LABELS, **weights)
    assert search.best_score_ > 0.5


def test_sample_weights_are_routed_to_the_steps():
    with config_context(enable_metadata_routing=True):
        learner = MultinomialNB().set_fit_request(sample_weight=True)
        # Not by the pipeline's own score: before scikit-learn 1.7 that asks for weights
        # in its own name.
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = _search(learner, {"ngram_range": [(1, 1)]}, scoring=scorer)
        assert "sample_weight" in str(search.get_metadata_routing())
        weights = np.where(LABELS == 1, 1.0, 1e-9)
        search.fit(TEXTS, LABELS, sample_weight=weights)
        assert np.mean(search.predict(NEW[0])) > 0.9


def test_methods_of_the_pipeline_exist_before_the_fit():
    search = _search(n_iter=1)
    proba = cross_val_predict(search, TEXTS, LABELS, cv=2, method="predict_proba")
    assert np.mean(proba.argmax(axis=1) == LABELS) > 0.7
    stack = StackingClassifier([("text", search)], cv=2).fit(TEXTS, LABELS)
    assert np.mean(stack.predict(NEW[0]) == NEW[1]) > 0.7
    assert is_classifier(search)
    assert not is_classifier(TextRepresentationSearchCV(KMeans()))
    assert not hasattr(search, "transform")
    assert not hasattr(_search(refit=False), "predict")
    with pytest.raises(NotFittedError, match="TextRepresentationSearchCV"):
        search.predict(TEXTS)


EXTRAS = "snowballstemmer", "stop_words", "liblinear"


def test_without_extras_scikit_learn_fits_the_texts(hide, caplog):
    hide(*EXTRAS)
    search = _fitted()
    assert search.score(*NEW) > 0.8
    assert search.best_estimator_[-1].library_ == "scikit-learn"
    clone(search).fit(TEXTS, LABELS)
    # A missing package is reported once, with a remedy.
    assert len(caplog.records) == 2
    assert all("skbayes[text]" in record.message for record in caplog.records)


STEMMED = make_pipeline(NGramVectorizer(stemmer="english"), LinearSVC())
PENALIZED = LiblinearClassifier(dual=False, penalize_intercept=False)


@pytest.mark.parametrize(
    "arguments, purpose",
    [
        ({"language": "german"}, "stemming"),
        ({"search_spaces": {"stemmer": [None, "english"]}}, "stemming"),
        ({"search_spaces": {"stop_words": [None, "german"]}}, "stop words of 'german'"),
        ({"estimator": STEMMED, "space": None}, "stemming"),
        ({"estimator": PENALIZED}, "penalize_intercept=False"),
        ({"surrogate": "trees"}, "surrogate='trees'"),
        ({"verbose": "progress"}, "verbose='progress'"),
    ],
)
def test_a_missing_package_is_one_error_before_the_first_fit(
    arguments, purpose, hide, no_trials
):
    hide(*EXTRAS, "lightgbm", "tqdm.auto")
    search = _search(**{"search_spaces": {"C": [1.0]}, **arguments})
    with pytest.raises(ImportError, match=rf'{purpose}.*pip install "skbayes\['):
        search.fit(TEXTS, LABELS)


def test_a_journal_of_another_space_is_refused(tmp_path, hide):
    search = _fitted(journal=tmp_path / "journal")
    with pytest.raises(ValueError, match="journal"):
        clone(search).fit(TEXTS[::-1], LABELS)
    hide(*EXTRAS)
    with pytest.raises(ValueError, match="search_spaces"):
        clone(search).fit(TEXTS, LABELS)


@pytest.fixture
def counting(monkeypatch):
    """Record when counts of the texts are created and deleted."""
    events = []

    @contextlib.contextmanager
    def recorded(*args, **options):
        with skbayes.text.counts.counted_texts(*args, **options) as counted:
            events.append("counted")
            try:
                yield counted
            finally:
                events.append("removed")

    monkeypatch.setattr("skbayes.text.search.counted_texts", recorded)
    return events


def test_counts_are_removed_before_the_refit_and_after_an_error(counting, monkeypatch):
    def refit(*args):
        counting.append("refit")

    kill_after(1, _search(), TEXTS, LABELS)
    assert counting == ["counted", "removed"]
    monkeypatch.setattr("skbayes.text.search.TextRepresentationSearchCV._refit", refit)
    _fitted()
    assert counting[2:] == ["counted", "removed", "refit"]


def test_a_penalty_in_the_space_needs_the_primal_problem():
    params = {"error_score": "raise", "surrogate": "random"}
    search = _fitted(search_spaces={"penalty": ["l1", "l2"]}, n_iter=8, **params)
    assert set(_values(search, "penalty", "classifier")) == {"l1", "l2"}
    assert not search.best_estimator_[-1].dual
    nested = Choice({"l1": {"classifier__penalize_intercept": [True]}, "l2": {}})
    search = _fitted(search_spaces=[{"classifier__penalty": nested}], space=None)
    assert not search.best_estimator_[-1].dual
    assert _fitted().best_estimator_[-1].dual


def test_a_rule_may_forbid_one_of_the_first_configurations():
    search = _fitted(constraints=lambda p: p["vectorizer__ngram_range"] != (3, 6))
    assert (3, 6) not in _values(search, "ngram_range")


def test_a_timeout_chooses_the_sizes_by_measured_times(fits_here):
    texts, labels = _reviews(700)
    search = TextRepresentationSearchCV(timeout="1 h", n_iter=4, random_state=0)
    search.fit(texts, labels)
    data = [(trial.fidelity.train_fraction, trial.n_folds) for trial in search.trials_]
    # The first configuration is measured, and then all rows and folds are used.
    assert data == [(1 / 3, 10), *[(1.0, 10)] * 3]
    with pytest.raises(ValueError, match="n_iter must be an int or None"):
        search.set_params(n_iter=[4, 2]).fit(texts, labels)
