"""Linear classifiers by LIBLINEAR, compared with those of scikit-learn."""

import itertools
import multiprocessing
import pickle
import threading
import warnings
from itertools import pairwise

import joblib
import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from skbayes.text import LiblinearClassifier, _liblinear

# penalty, loss, dual: what LIBLINEAR can solve, by its numbers.
PROBLEMS = {
    0: ("l2", "logistic", False),
    1: ("l2", "squared_hinge", True),
    2: ("l2", "squared_hinge", False),
    3: ("l2", "hinge", True),
    5: ("l1", "squared_hinge", False),
    6: ("l1", "logistic", False),
    7: ("l2", "logistic", True),
}
DRAWING = (1, 3, 5, 6, 7)


@pytest.fixture(params=["liblinear-official", "scikit-learn"])
def library(request, hide):
    """Run a test with each LIBLINEAR; most tests are valid for both."""
    if request.param == "scikit-learn":
        hide("liblinear")
    return request.param


both = pytest.mark.usefixtures("library")


@pytest.fixture(scope="module")
def two_classes():
    X, y = make_classification(150, 8, n_informative=4, flip_y=0.1, random_state=0)
    return X, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def three_classes():
    return load_iris(return_X_y=True)


def _classifier(number, **settings):
    """Return a classifier by the number of its solver in LIBLINEAR."""
    penalty, loss, dual = PROBLEMS[number]
    return LiblinearClassifier(penalty, loss, dual=dual, **settings)


def _scikit_learns(number, several_classes, **settings):
    """Return the classifier of scikit-learn with the same problem."""
    penalty, loss, dual = PROBLEMS[number]
    if loss != "logistic":
        return LinearSVC(penalty=penalty, loss=loss, dual=dual, **settings)
    # As an argument, "l2" is deprecated since it became the default in other words.
    if penalty == "l1":
        has_ratio = LogisticRegression().l1_ratio is not None
        settings |= {"l1_ratio": 1} if has_ratio else {"penalty": "l1"}
    estimator = LogisticRegression(solver="liblinear", dual=dual, **settings)
    return OneVsRestClassifier(estimator) if several_classes else estimator


@both
@pytest.mark.parametrize("number", PROBLEMS)
@pytest.mark.parametrize(
    "intercept, data, weight",
    [
        (True, "two_classes", {"no": 2.0}),
        (True, "three_classes", {0: 2.0}),
        (False, "three_classes", "balanced"),
    ],
)
def test_decision_values_agree_with_scikit_learn(
    number, intercept, data, weight, request
):
    X, y = request.getfixturevalue(data)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    # Fewer rows of the first class, which comes last.
    X, y = X[20:][::-1], y[20:][::-1]
    # The dual of the hinge loss converges slowly, and has 300 iterations.
    C, tol, near = (0.01, 1e-3, 5e-3) if number == 3 else (0.3, 1e-6, 2e-4)
    settings = {"C": C, "tol": tol, "fit_intercept": intercept, "random_state": 0}
    if intercept:
        settings["intercept_scaling"] = 2.0
    is_logistic, n_classes = PROBLEMS[number][1] == "logistic", len(set(y))
    if not is_logistic or n_classes == 2:  # the weights of OneVsRestClassifier differ
        settings["class_weight"] = weight
    ours = _classifier(number, **settings).fit(X, y)
    theirs = _scikit_learns(number, n_classes > 2, **settings).fit(X, y)
    assert ours.coef_.shape == (1 if n_classes == 2 else 3, X.shape[1])
    assert isinstance(ours.n_iter_, int)
    values = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), values, atol=near)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98
    if is_logistic:
        np.testing.assert_allclose(
            ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4
        )


def _objective(weights, X, signs, loss, penalty, C, penalize_intercept):
    margins = signs * (X @ weights[:-1] + weights[-1])
    losses = {
        "logistic": lambda: -np.log(expit(margins)),
        "squared_hinge": lambda: np.maximum(0, 1 - margins) ** 2,
    }[loss]()
    counted = weights if penalize_intercept else weights[:-1]
    norm = np.abs(counted).sum() if penalty == "l1" else counted @ counted / 2
    return norm + C * losses.sum()


@pytest.mark.parametrize("penalize", [True, False])
@pytest.mark.parametrize(
    "loss, penalty",
    list(itertools.product(["logistic", "squared_hinge"], ["l1", "l2"])),
)
def test_minimizes_the_objective(loss, penalty, penalize, two_classes, library):
    X, y = two_classes
    X = X + 3  # so that the intercept matters
    settings = {"loss": loss, "penalty": penalty, "dual": False, "C": 0.05}
    model = LiblinearClassifier(
        **settings, tol=1e-8, penalize_intercept=penalize, random_state=0
    )
    if library == "scikit-learn" and not penalize:
        match = r'penalize_intercept=False needs liblinear-.*"skbayes\[text\]"'
        with pytest.raises(ImportError, match=match):
            model.fit(X, y)
        assert not hasattr(model, "coef_")
        return
    model.fit(X, y)
    signs = np.where(y == "yes", 1, -1)
    args = (X, signs, loss, penalty, 0.05, penalize)
    weights = np.append(model.coef_, model.intercept_)
    # A general minimizer finds no lower value, from the solution or from other starts.
    for start in (weights, np.zeros(len(weights))):
        best = optimize.minimize(
            _objective, start, args, method="Powell", options={"ftol": 1e-12}
        )
        assert _objective(weights, *args) <= best.fun + 1e-6


@pytest.mark.parametrize(
    "settings, tall, wide",
    [
        ({}, "L2R_L2LOSS_SVC", "L2R_L2LOSS_SVC_DUAL"),
        ({"loss": "hinge"}, "L2R_L1LOSS_SVC_DUAL", "L2R_L1LOSS_SVC_DUAL"),
        ({"loss": "logistic"}, "L2R_LR", "L2R_LR_DUAL"),
        ({"penalty": "l1"}, "L1R_L2LOSS_SVC", "L1R_L2LOSS_SVC"),
        ({"penalty": "l1", "loss": "logistic"}, "L1R_LR", "L1R_LR"),
        ({"loss": "logistic", "penalize_intercept": False}, "L2R_LR", "L2R_LR"),
    ],
)
def test_dual_auto_chooses_the_faster_problem(settings, tall, wide, two_classes):
    X, y = two_classes
    settings = {**settings, "C": 0.01, "random_state": 0}
    assert LiblinearClassifier(**settings).fit(X, y).solver_ == tall
    X = np.tile(X[:6], 2)
    y = np.array(["a", "b"] * 3)
    assert LiblinearClassifier(**settings).fit(X, y).solver_ == wide


GOOD = ([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "settings, data, match",
    [
        ({"penalty": "l1", "loss": "hinge"}, GOOD, "no solver for penalty='l1'"),
        ({"penalty": "l1", "dual": True}, GOOD, "no solver for penalty='l1'"),
        ({"loss": "hinge", "dual": False}, GOOD, "no solver for .*'hinge'"),
        ({"loss": "hinge", "penalize_intercept": False}, GOOD, "a primal solver"),
        ({"penalize_intercept": False, "intercept_scaling": 2.0}, GOOD, "scaling=1,"),
        ({"C": 0.0}, GOOD, "'C'"),
        ({"tol": 0.0}, GOOD, "'tol'"),
        ({"intercept_scaling": 0.0}, GOOD, "'intercept_scaling'"),
        ({"loss": "log"}, GOOD, "'loss'"),
        ({}, ([[0.0], [1.0]], ["a", "a"]), "one class only: .*a"),
        ({}, (sparse.csr_matrix((2, 2**31)), [0, 1]), "X has 2147483648 features"),
    ],
    ids=range(11),
)
def test_wrong_parameters_and_data_are_named(settings, data, match):
    with pytest.raises(ValueError, match=match):
        LiblinearClassifier(**settings).fit(*data)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "none"])
def test_losses_that_give_probabilities(loss):
    model = LiblinearClassifier(loss=loss)
    for name in ("predict_proba", "predict_log_proba"):
        assert hasattr(model, name) == (loss in ("logistic", "squared_hinge"))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_probabilities_are_the_shares_of_the_classes(loss, share):
    # One constant feature: the loss alone decides.
    y = np.arange(1000) < 1000 * share
    X = np.ones((1000, 1))
    model = LiblinearClassifier(
        loss=loss, dual=False, C=1e3, tol=1e-10, fit_intercept=False
    ).fit(X, y)
    probabilities = model.predict_proba(X[:1])
    np.testing.assert_allclose(probabilities, [[1 - share, share]], atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_probabilities_lie_between_0_and_1_in_the_order_of_the_decisions(
    loss, three_classes
):
    model = LiblinearClassifier(loss=loss, C=10.0, random_state=0).fit(*three_classes)
    probabilities = model.predict_proba(three_classes[0])
    assert probabilities.min() > 0 and probabilities.max() < 1
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    # Those of the squared hinge loss are clipped.
    model.coef_ = np.zeros((3, 4))
    for decisions in ([-1.5, -1.2, -1.3], [1.1, 1.2, 0.3]):
        model.intercept_ = np.array(decisions)
        assert model.predict_proba(np.zeros((1, 4))).argmax() == 1
    if loss == "logistic":  # far from all classes
        model.intercept_ = np.full(3, -1e4)
        np.testing.assert_array_equal(model.predict_proba(np.zeros((1, 4))), 1 / 3)
        model.intercept_ = np.array([1e4, -1e4, -1e4])
        assert model.predict_log_proba(np.zeros((1, 4))).max() == 0


def _unsorted(X):
    """Return rows whose entries are reversed, and halved twice."""
    rows = sparse.csr_matrix(X)
    entries = [np.tile(np.arange(b, e)[::-1], 2) for b, e in pairwise(rows.indptr)]
    places = np.concatenate(entries)
    arrays = rows.data[places] / 2, rows.indices[places], 2 * rows.indptr
    return sparse.csr_matrix(arrays, shape=X.shape)


def _wide(X):
    """Return rows with long indices in memory that is read-only."""
    rows = sparse.csr_matrix(X)
    rows.indices, rows.indptr = rows.indices.astype("i8"), rows.indptr.astype("i8")
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    return rows


FORMS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, _unsorted, _wide]


@both
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_matrix_give_the_same(form):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16, y[:200]
    rows, before = form(X), form(X)
    dense = LiblinearClassifier(random_state=0).fit(X, y)
    thin = LiblinearClassifier(random_state=0).fit(rows, y)
    np.testing.assert_array_equal(dense.coef_, thin.coef_)
    np.testing.assert_allclose(
        dense.decision_function(X), thin.decision_function(rows), rtol=1e-9
    )
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(before, name))


@both
def test_empty_rows_and_single_entries_are_fitted():
    X = sparse.csr_matrix(([1.0], ([0], [1])), shape=(4, 3))
    model = _classifier(0, tol=1e-8).fit(X, [1, 0, 0, 0])
    np.testing.assert_array_equal(model.coef_[0, [0, 2]], 0)
    assert model.coef_[0, 1] > 0 > model.intercept_[0]
    model = LiblinearClassifier(loss="logistic", fit_intercept=False)
    model.fit(sparse.csr_matrix((4, 3)), [0, 1, 1, 0])
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 3)))
    with pytest.raises(TypeError, match="sample_weight"):
        LiblinearClassifier().fit(X, [1, 0, 0, 0], sample_weight=np.ones(4))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_checks_of_scikit_learn_pass(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(LiblinearClassifier(loss=loss), on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert len(results) > 40
    assert not failed


@both
def test_same_seed_same_weights_and_other_seeds_differ_by_the_tolerance(two_classes):
    X, y = two_classes
    weights = {}
    for number, seed in itertools.product(DRAWING, [0, 0, 1]):
        model = _classifier(number, C=0.01, tol=1e-3, random_state=seed).fit(X, y)
        weights.setdefault((number, seed), []).append(model.coef_)
    for number in DRAWING:
        first, again = weights[number, 0]
        np.testing.assert_array_equal(first, again)
        np.testing.assert_allclose(first, weights[number, 1][0], atol=0.05)
    assert any((weights[n, 0][0] != weights[n, 1][0]).any() for n in DRAWING)


@both
def test_fits_in_threads_are_those_of_fits_alone():
    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    models = [
        _classifier(number, C=1e-3, random_state=seed)
        for number in PROBLEMS
        for seed in range(2)
    ]
    alone = [clone(model).fit(X, y) for model in models]
    crowd = joblib.Parallel(4, backend="threading")(
        joblib.delayed(clone(model).fit)(X, y) for model in models
    )
    for one, other in zip(alone, crowd, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        assert one.n_iter_ == other.n_iter_


def test_without_drawing_fits_do_not_wait(two_classes):
    with _liblinear._RNG_LOCK:
        _classifier(0).fit(*two_classes)
        waiting = _classifier(1, random_state=0)
        thread = threading.Thread(target=waiting.fit, args=two_classes)
        thread.start()
        thread.join(0.05)
        assert not hasattr(waiting, "coef_")
    thread.join()
    assert hasattr(waiting, "coef_")


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="forks no processes"
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_its_parent():
    fit = _classifier(1).fit
    fork = multiprocessing.get_context("fork")
    with _liblinear._RNG_LOCK:
        child = fork.Process(target=fit, args=(np.eye(2), [0, 1]), daemon=True)
        child.start()
    child.join(600)
    assert child.exitcode == 0


@both
@pytest.mark.parametrize("is_used_elsewhere", [False, True])
def test_fits_print_nothing(capfd, two_classes, is_used_elsewhere, library):
    if is_used_elsewhere and library == "liblinear-official":
        from liblinear.liblinear import parameter

        parameter("-s 0")  # sets the library's own printing function, for all
    for number in PROBLEMS:
        _classifier(number, C=0.01, random_state=0).fit(*two_classes)
    assert capfd.readouterr() == ("", "")


def test_iterations_grow_with_precision_and_have_a_limit(library, two_classes):
    X, y = two_classes
    for number in PROBLEMS:
        model = _classifier(number, random_state=0).fit(X, y)
        assert 1 <= model.n_iter_ < 1000
    loose = _classifier(0, tol=0.1).fit(X, y)
    many = _classifier(0, tol=1e-9).fit(X, y)
    assert many.n_iter_ > loose.n_iter_
    with pytest.warns(ConvergenceWarning, match="of iterations"):
        model = LiblinearClassifier(loss="hinge", C=1e4, tol=1e-9, random_state=0)
        model.fit(X * 100, y)
    assert model.n_iter_ == {"liblinear-official": 300, "scikit-learn": 1000}[library]
    if library == "liblinear-official":  # a dual solver that switches to a primal one
        model = _classifier(1, C=1e4, tol=1e-6, random_state=0).fit(X * 100, y)
        assert model.n_iter_ == 300


@both
def test_pickled_model_needs_no_library(two_classes):
    X, y = two_classes
    model = LiblinearClassifier(loss="logistic").fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert len(pickle.dumps(model)) < 2000


def test_the_use_of_scikit_learns_copy_is_logged_once(library, two_classes, caplog):
    for _ in range(2):
        assert LiblinearClassifier().fit(*two_classes).library_ == library
    if library == "liblinear-official":
        assert not caplog.records
        return
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("skbayes", "WARNING")
    assert "scikit-learn's copy of LIBLINEAR" in record.message
    assert 'pip install "skbayes[text]"' in record.message


def ratios_by_hand(X, positive):
    """Return r of Wang & Manning (2012), equation 2, feature by feature."""
    present = X.toarray() != 0
    p = [1 + sum(row[j] for row in present[positive]) for j in range(X.shape[1])]
    q = [1 + sum(row[j] for row in present[~positive]) for j in range(X.shape[1])]
    return np.log((np.array(p) / sum(p)) / (np.array(q) / sum(q)))


@both
@pytest.mark.parametrize("solver", PROBLEMS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scaling_is_that_of_scaled_features(solver, n_classes):
    rng = np.random.RandomState(0)
    X = sparse.random(40, 12, density=0.3, random_state=rng, format="csr")
    before, y = X.copy(), rng.randint(n_classes, size=40)
    # With an intercept, the dual of the hinge loss converges slowly.
    options = {"tol": 1e-8, "C": 0.5, "fit_intercept": solver != 3, "random_state": 0}
    scaled = _classifier(solver, feature_scaling="log-count-ratio", **options).fit(X, y)
    for row, code in enumerate(range(n_classes) if n_classes > 2 else [1]):
        ratios = ratios_by_hand(X, y == code)
        alone = _classifier(solver, **options)
        alone.fit(X.multiply(ratios).tocsr(), y == code)
        expected = alone.coef_[0] * ratios, alone.intercept_[0]
        np.testing.assert_allclose(scaled.coef_[row], expected[0], atol=1e-5)
        np.testing.assert_allclose(scaled.intercept_[row], expected[1], atol=1e-5)
    np.testing.assert_array_equal(X.toarray(), before.toarray())


@pytest.mark.parametrize("solver", [0, 7])
@pytest.mark.parametrize("scaling", [None, "log-count-ratio"])
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_classes_side_by_side_give_the_same(
    solver, scaling, backend, two_classes, three_classes
):
    # The library reads the memory of this process.
    for data in (two_classes, three_classes):
        model = _classifier(solver, C=0.1, feature_scaling=scaling, random_state=0)
        alone = clone(model).fit(*data)
        with joblib.parallel_config(backend, n_jobs=2):
            fitted = clone(model).fit(*data)
        np.testing.assert_array_equal(fitted.coef_, alone.coef_)
        assert fitted.n_iter_ == alone.n_iter_
    together = clone(model).set_params(n_jobs=2).fit(*three_classes)
    np.testing.assert_array_equal(together.coef_, alone.coef_)


def test_scikit_learn_refuses_more_nonzeros_than_it_can_count(
    hide, two_classes, monkeypatch
):
    hide("liblinear")
    monkeypatch.setattr(_liblinear, "MAX_NONZEROS", 1000)
    with pytest.raises(ValueError, match="does not support 1200 nonzeros"):
        LiblinearClassifier().fit(*two_classes)
