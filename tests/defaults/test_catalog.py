"""Properties of all classes in the catalog."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from default_spaces import MAX_SHARE, classes_of, data, estimators, failures
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.utils import all_estimators

from skbayes import BayesSearchCV
from skbayes.defaults.catalog import CATALOG, DataFacts, Fallback, find
from skbayes.defaults.default import default_space, space_of_parts, unknown_parts
from skbayes.defaults.parts import current_values, own_params, parts_of, space_of
from skbayes.search._configurations import check_values
from skbayes.space import Choice, Space
from skbayes.space.notation import pairs_of

SKLEARN = dict(all_estimators())
# An odd number of rows, classes of different sizes, values of both signs.
X, y = load_iris(return_X_y=True)
X, y = (X - X.mean(axis=0))[:131:2], y[:131:2]
FACTS = {
    "no data": DataFacts(),
    "few rows": DataFacts.of(X[:12], y[:12] + 0.5, 0.5),
    "imbalanced": DataFacts.of(X, y, 0.8),
    "many columns": DataFacts(n_rows=5000, n_features=3000, y_scale=100.0),
    "raw columns": DataFacts.of(200.0 * X, y, 0.8),
}
pytestmark = pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")


def _make(package, name):
    """Return an estimator with its defaults."""
    module = "skbayes.text" if package == "skbayes" else package
    kind = SKLEARN.get(name) or getattr(pytest.importorskip(module), name, None)
    if kind is None:
        pytest.skip("not in this release")
    try:
        return kind()
    except TypeError:
        inner = SKLEARN["LogisticRegression"]()
        named = name.startswith(("Voting", "Stacking", "Pipeline", "FeatureUnion"))
        columns = name == "ColumnTransformer"
        member = ("a", inner, [0]) if columns else ("a", inner)
        return kind([member] if named or columns else inner)


each = pytest.mark.parametrize(
    ("package", "name"), sorted(CATALOG), ids=lambda part: str(part)
)


def _names(space):
    for name, notation in space.items():
        yield name
        if isinstance(notation, Choice):
            for _, opened in pairs_of(notation):
                yield from _names(opened)


@each
def test_a_class_has_its_parameters_own_values_and_samples(package, name):
    """Samples are accepted by the class, and values by the check of a search."""
    estimator = _make(package, name)
    assert find(estimator) is CATALOG[package, name]
    for facts in FACTS.values():
        entry = CATALOG[package, name]
        built = entry.build(own_params(estimator, entry), facts)
        notation = _space(estimator, facts)
        space = Space.from_notation(notation)
        if package != "catboost":  # its get_params has only what was set
            defaults = estimator.get_params(deep=False)
            assert set(_names(entry.build(defaults, facts))) <= defaults.keys()
        # A fallback stands for an own value that cannot be fitted.
        if not any(isinstance(one, Fallback) for one in built.values()):
            defaults = space.selection(current_values(estimator))
            assert defaults is not None
            assert set(defaults) <= set(space.parameter_names)
        sample = _samples(space, 2)
        models = [clone(estimator).set_params(**params) for params in sample]
        for params, model in zip(sample, models, strict=True):
            assert params.keys() <= model.get_params().keys()
            if hasattr(model, "_parameter_constraints"):
                model._validate_params()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_values(space, sample[2:], models[2:])


def _space(estimator, facts):
    return space_of(parts_of(estimator, facts))


def _samples(notation, n):
    """Return random configurations, and some that use every option together."""
    space = Space.from_notation(notation)
    U = np.random.default_rng(0).random((n, space.n_columns))
    return [*space.decode(space.from_uniform(U)), *space.covering_sample()]


# Classes with long fits are left out.
SLOW = ("Ada", "Bagging", "Calib", "Cat", "ExtraTrees", "Grad", "Hist", "KBins", "LGBM")
SLOW += ("MLP", "MiniBatch", "Random", "SparsePCA", "XGB")
DIFFICULT = ("8 rows", "wide", "class of two rows")


@pytest.mark.parametrize("label, X, y", [d for d in data() if d[0] in DIFFICULT])
def test_values_of_a_space_can_be_fitted_if_the_current_ones_can(label, X, y):
    if label == "class of two rows":
        X[:, 2:] = 1.0  # and constant columns
    for name, estimator in estimators():
        target = classes_of(label, y) if is_classifier(estimator) else y
        if target is not None and not name.startswith(SLOW):
            failed, n_fits, message = failures(estimator, X, target, 1)
            assert failed <= MAX_SHARE * n_fits, f"{name}: {message}"


def test_a_class_is_found_by_its_base():
    class Mine(SKLEARN["SVC"]):
        def __init__(self, C=2.0):
            super().__init__(C=C)

    class SVC:  # of the same name, from elsewhere
        pass

    assert find(Mine()) is CATALOG["sklearn", "SVC"]
    assert list(_space(Mine(), DataFacts())) == ["C"]
    assert find(object()) is find(SVC()) is None


def test_packages_that_the_user_has_not_imported_are_not_imported():
    code = (
        "import sys; from skbayes.defaults import default_space; "
        "from sklearn.linear_model import Ridge; default_space(Ridge()); "
        "print({'lightgbm', 'xgboost', 'catboost', 'sklearn.ensemble'} "
        "& set(sys.modules))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "set()"


def _classes(*sizes, own_score=False):
    """Return the facts about data with classes of these sizes."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return DataFacts.of(np.zeros((len(labels), 2)), labels, 1.0, own_score)


def _size(n_rows, n_features, n_classes=2):
    return DataFacts(n_rows=n_rows, n_features=n_features, n_classes=n_classes)


def _voting(member, **params):
    members = [("a", SKLEARN["LogisticRegression"]()), ("b", member)]
    return SKLEARN["VotingClassifier"](members, **params)


def _scaled(name):
    return make_pipeline(SKLEARN["StandardScaler"](), SKLEARN[name]())


TREE, LOGISTIC = "DecisionTreeClassifier", "LogisticRegression"
HISTOGRAM = "HistGradientBoostingClassifier"
NAIVE = SKLEARN["GaussianNB"]()
COLUMNS = "KMeans", "GaussianMixture", "KernelDensity", "PCA"
PLAIN, SCORED = (DataFacts.of(X, None, 1.0, own_score) for own_score in (False, True))
MANY = _classes(100, 300)
MANY_SCORED = _classes(100, 300, own_score=True)
# An estimator or a class, an entry of its space, and data with and without the entry.
ENTRIES = [
    (TREE, "class_weight", [_classes(20, 31)], [_classes(20, 25)]),
    ("RandomForestClassifier", "class_weight", [MANY_SCORED], []),
    ("RandomForestRegressor", "class_weight", [], [_classes(20, 31)]),
    (SKLEARN[TREE](class_weight={0: 2.0}), "class_weight", [], [_classes(20, 31)]),
    # Quantiles of many weighted rows take long, and accuracy seldom needs them.
    (HISTOGRAM, "class_weight", [MANY], [MANY_SCORED]),
    (HISTOGRAM, "class_weight", [_classes(50, 150, own_score=True)], []),
    # An elastic net of wide data is slower, but few of the columns may matter.
    (LOGISTIC, "solver", [_size(400, n) for n in (30, 64, 2000)], []),
    # Each pass computes the gradients of ten classes.
    (LOGISTIC, "solver", [], [_size(400, 64, 10)]),
    (LOGISTIC, "solver", [], [_size(10_000, 20), _size(10_000, None)]),
    (SKLEARN[LOGISTIC](solver="saga"), "solver", [_size(10_000, 20)], []),
    # Only "saga" has penalties between the two norms.
    (SKLEARN[LOGISTIC](solver="saga", l1_ratio=0.5), "l1_ratio", [PLAIN], []),
    (SKLEARN[LOGISTIC](solver="liblinear", l1_ratio=1.0), "l1_ratio", [], [PLAIN]),
    # All members must have probabilities.
    *((_voting(one), "voting", [DataFacts()], []) for one in (NAIVE, "drop")),
    (_voting(SKLEARN["LinearSVC"]()), "voting", [], [DataFacts()]),
    (_voting(NAIVE, voting="soft"), "voting", [], [DataFacts()]),
    # A score of the columns themselves does not tune how they are changed.
    *((_scaled(one), "standardscaler", [PLAIN], [SCORED]) for one in COLUMNS),
]


@pytest.mark.parametrize(
    ("estimator", "entry", "within", "without"), ENTRIES, ids=lambda one: str(one)[:30]
)
def test_an_entry_depends_on_the_data(estimator, entry, within, without):
    estimator = SKLEARN[estimator]() if isinstance(estimator, str) else estimator
    assert all(entry in _space(estimator, facts) for facts in within)
    assert not any(entry in _space(estimator, facts) for facts in without)


@pytest.mark.parametrize("n_rare", [1, 3, 20])
def test_nu_is_feasible_for_rare_classes(n_rare):
    X = np.random.default_rng(0).normal(size=(120, 2))
    labels = np.arange(len(X)) < n_rare
    svc = SKLEARN["NuSVC"]()
    space = _space(svc, DataFacts.of(X, labels))
    assert 0.0 < space["nu"][0] < space["nu"][1] < svc.nu
    for params in _samples(space, 6):
        clone(svc).set_params(**params).fit(X, labels)
    # Weighted classes may allow the own value.
    weighted = _space(
        SKLEARN["NuSVC"](class_weight="balanced"), DataFacts.of(X, labels)
    )
    assert weighted["nu"][1] == pytest.approx(svc.nu)


def test_bounds_depend_on_the_rows_and_on_the_scale_of_the_target():
    neighbors, lasso = SKLEARN["KNeighborsClassifier"](), SKLEARN["Lasso"]()
    for n_rows in (12, 40, 90):
        low, high, _ = _space(neighbors, DataFacts(n_rows=n_rows))["n_neighbors"]
        assert (low, high) == (1, max(5, n_rows // 2))
    scaled = [_space(lasso, DataFacts(y_scale=s))["alpha"] for s in (1.0, 100.0)]
    assert scaled[1][0] == 100.0 * scaled[0][0]
    for n_rows in (500, 50_000):
        ranges = _space(SKLEARN["CountVectorizer"](), DataFacts(n_rows=n_rows))
        assert ((1, 3) in ranges["ngram_range"]) == (n_rows == 500)


@pytest.mark.parametrize(
    ("n_rows", "cv"),
    [
        (20, KFold(4)),
        (23, 4),
        (30, TimeSeriesSplit(3)),
        (20, GroupKFold(3)),
        (20, ShuffleSplit(3, test_size=0.5, random_state=0)),
    ],
    ids=str,
)
def test_components_of_wide_data_fit_the_smallest_training_fold(n_rows, cv):
    rows = np.random.default_rng(0).normal(size=(n_rows, 100))
    groups = np.maximum(0, np.arange(n_rows) - 9)
    search = BayesSearchCV(SKLEARN["PLSRegression"](), n_iter=6, cv=cv, random_state=0)
    search.fit(rows, rows[:, 0], groups=groups if "Group" in str(cv) else None)
    assert all(trial.state == "complete" for trial in search.trials_)


def test_an_empty_space_is_an_error():
    parts = parts_of(SKLEARN["LinearRegression"](), DataFacts())
    with pytest.raises(ValueError, match="LinearRegression has no parameters to tune"):
        space_of_parts(parts, DataFacts())


PROJECTIONS = [
    *("FactorAnalysis", "FastICA", "IncrementalPCA", "KernelPCA", "Nystroem", "PCA"),
    *("SelectKBest", "SelectPercentile", "SparsePCA", "TruncatedSVD"),
]


@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections_of_small_tables_can_be_fitted(name):
    small, target = np.abs(X[::2][:20, :3]), y[::2][:20]
    before = SKLEARN["PCA"](n_components=2)
    for steps in ([], [before]):
        estimator = make_pipeline(*steps, SKLEARN[name]())
        space = _space(estimator, DataFacts.of(small, target))
        assert any(key.startswith(name.lower()) for key in space)
        failed, n_fits, message = failures(estimator, small, target, 2)
        assert n_fits > 0 and failed == 0, message


def test_a_projection_is_bounded_by_the_columns_that_are_left():
    facts = DataFacts.of(np.zeros((40, 30)))
    pca = SKLEARN["PCA"](n_components=5)
    for first in (pca, make_pipeline(pca), make_pipeline(None, pca, "passthrough")):
        steps = make_pipeline(first, SKLEARN["FastICA"](2))
        assert _space(steps, facts)["fastica__n_components"] == [2]
    columns = SKLEARN["ColumnTransformer"](
        [("a", SKLEARN["StandardScaler"](), [0, 1, 2]), ("b", "passthrough", [3, 4])]
    )
    steps = make_pipeline(columns, SKLEARN["FastICA"](2))
    assert _space(steps, facts)["fastica__n_components"][:2] == (2, 5)


def _kernels(svm, facts):
    """Return the spaces of the kernels of a support vector machine, with its C."""
    space = _space(svm, facts)
    rest = {name: one for name, one in space.items() if name != "kernel"}
    return {kernel: rest | opened for kernel, opened in pairs_of(space["kernel"])}


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVR"])
def test_the_margin_of_a_linear_kernel_follows_the_variance(name):
    svm = SKLEARN[name]()
    spaces = [_kernels(svm, DataFacts.of(s * X, y, 0.8)) for s in (1.0, 100.0, 1000.0)]
    one, hundred, thousand = (kernels["linear"]["C"][1] for kernels in spaces)
    assert hundred == pytest.approx(100.0 * thousand) and hundred < 1e-3 * one
    # The radial basis function is bounded.
    assert len({kernels["rbf"]["C"] for kernels in spaces}) == 1
    # An unused kernel does not get the own margin.
    facts = DataFacts.of(1000.0 * X, y)
    assert _kernels(svm.set_params(C=500.0), facts)["linear"]["C"][1] < 1.0
    assert _kernels(svm.set_params(kernel="linear"), facts)["linear"]["C"][1] == 500.0
    if name != "SVC":
        for n_rows in (100, 1000):
            facts = DataFacts(n_rows=n_rows, n_features=60)
            kernels = _kernels(SKLEARN[name](), facts)
            assert 10.0 * kernels["linear"]["C"][1] < kernels["rbf"]["C"][1]


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_polynomials_of_few_columns_have_small_widths_and_margins(name):
    for n_features, small_widths in ((3, True), (60, False)):
        facts = DataFacts(n_rows=150, n_features=n_features, n_classes=2)
        kernels = _kernels(SKLEARN[name](), facts)
        assert (kernels["poly"]["gamma"].values[-1] == "scale") == small_widths
        if name == "SVC" and small_widths:
            assert kernels["poly"]["C"][1] < kernels["rbf"]["C"][1]


def test_a_search_of_noise_in_few_columns_does_not_stall():
    X = np.random.default_rng(0).normal(size=(120, 2))
    labels = np.arange(len(X)) < 20
    for name in ("SVC", "NuSVC"):
        svc = SKLEARN[name]()
        for params in _samples(_space(svc, DataFacts.of(X, labels)), 24):
            fitted = clone(svc).set_params(**params, max_iter=1_000_000)
            with warnings.catch_warnings():
                warnings.simplefilter("error", ConvergenceWarning)
                fitted.fit(X, labels)
            assert np.all(fitted.n_iter_ < fitted.max_iter)


def test_kernel_widths_follow_the_variance_until_a_scaler():
    raw = DataFacts.of(1000.0 * X, y)
    svc, scaler = SKLEARN["SVC"](), SKLEARN["StandardScaler"]()
    plain = repr(_space(svc, DataFacts.of(X, y)))
    assert repr(_space(svc, raw)) != plain
    scaled = _space(make_pipeline(scaler, svc), raw)
    del scaled["standardscaler"]
    assert repr(scaled).replace("svc__", "") == plain
    widths = _kernels(svc, raw)["rbf"]["gamma"].values
    assert max(one for one in widths if one != "scale") <= 10.0 / raw.x_variance
    # An option is among the numbers at the one that it stands for.
    svc.gamma = "auto"
    widths = _kernels(svc, DataFacts.of(X, y))["rbf"]["gamma"].values
    place = widths.index("auto")
    assert widths[place - 1] < 1.0 / X.shape[1] <= widths[place + 1]


def test_wide_data_have_no_solver_that_visits_rows_one_by_one():
    logistic = SKLEARN["LogisticRegression"]()
    steps = make_pipeline(SKLEARN["TfidfVectorizer"](), logistic)
    texts = np.array(["a b", "b c"] * 10)
    assert "logisticregression__solver" not in _space(
        steps, DataFacts.of(texts, y[:20])
    )
    # The graph has 64-bit indices, which "saga" does not accept.
    steps = make_pipeline(SKLEARN["KNeighborsTransformer"](), logistic)
    space = _space(steps, DataFacts.of(X, y))
    for params in _samples(space, 4):
        clone(steps).set_params(**params).fit(X, y)


@pytest.mark.parametrize(
    "name, low", [("LogisticRegression", 0.0), ("LinearSVC", -2.0)]
)
def test_a_fixed_threshold_is_tuned(name, low):
    estimator = SKLEARN["FixedThresholdClassifier"](SKLEARN[name]())
    values = _space(estimator, DataFacts())["threshold"].values
    numbers = [value for value in values if value != "auto"]
    assert len(numbers) == len(values) - 1
    assert all(low < number < low + 1.0 - 2.0 * low for number in numbers)


UNTUNED = [
    *("AffinityPropagation", "BernoulliRBM", "DBSCAN", "FeatureAgglomeration"),
    *("GaussianMixture", "GaussianProcessClassifier", "GaussianProcessRegressor"),
    *("GaussianRandomProjection", "IsolationForest", "Isomap", "KMeans"),
    *("KernelDensity", "LabelSpreading", "LocalOutlierFactor", "OneClassSVM"),
]


@pytest.mark.parametrize("name", UNTUNED)
def test_a_class_that_is_seldom_tuned_is_named(name):
    steps = make_pipeline(SKLEARN["PCA"](), SKLEARN[name]())
    parts = parts_of(steps, DataFacts.of(X, y))
    assert unknown_parts(parts) == [f"{name.lower()} ({name})"]
    assert set(space_of(parts)) == {"pca__n_components", "pca__whiten"}
    with pytest.raises(ValueError, match=f"no default space for {name}. Write the sp"):
        default_space(SKLEARN[name]())


def test_a_sampler_is_named_and_leaves_the_next_steps_feasible():
    pytest.importorskip("imblearn")
    from imblearn.pipeline import make_pipeline
    from imblearn.under_sampling import RandomUnderSampler

    rows = np.arange(42)
    facts = DataFacts.of(X[rows], (rows >= 30).astype(int))
    parts = parts_of(make_pipeline(RandomUnderSampler(), SKLEARN["NuSVC"]()), facts)
    assert unknown_parts(parts) == ["randomundersampler (RandomUnderSampler)"]
    # As many rows of each class remain as the smaller one has.
    assert parts[-1].facts.n_rows == 24
