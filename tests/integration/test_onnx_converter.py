import numpy as np
import pytest
from every_search import SEARCHES, data, make
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV, TextRepresentationSearchCV
from skbayes.integration import register_onnx_converter

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

X, y = load_iris(return_X_y=True)
X = X.astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def register():
    register_onnx_converter()


def outputs(model, rows=X, **more):
    """Return the outputs of a model that was converted to ONNX."""
    converted = skl2onnx.to_onnx(model, rows[:1], **more)
    session = onnxruntime.InferenceSession(converted.SerializeToString())
    return session.run(None, {"X": rows})


def logistic(**more):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    space = {"logisticregression__C": [0.1, 1.0]}
    return BayesSearchCV(model, space, n_iter=2, cv=2, **more)


@pytest.mark.parametrize("by", ["name", "id", "type"])
def test_a_search_gives_the_same_probabilities(by):
    search = logistic().fit(X, y)
    no_dicts = {"zipmap": False}
    keys = {"id": id(search), "type": BayesSearchCV}
    options = no_dicts if by == "name" else {keys[by]: no_dicts}
    labels, probabilities = outputs(search, options=options)
    np.testing.assert_array_equal(labels, search.predict(X))
    np.testing.assert_allclose(probabilities, search.predict_proba(X), atol=1e-5)


def test_a_regressor_gives_the_same_predictions():
    search = BayesSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, cv=2)
    search.fit(X[:, :3], X[:, 3])
    (predicted,) = outputs(search, X[:, :3])
    np.testing.assert_allclose(
        predicted.ravel(), search.predict(X[:, :3]).ravel(), atol=1e-5
    )


@pytest.mark.parametrize(
    "outer",
    [
        lambda search: make_pipeline(StandardScaler(), search),
        lambda search: StackingClassifier([("search", search)], cv=2),
    ],
)
def test_a_search_within_an_estimator_is_converted(outer):
    model = outer(logistic()).fit(X, y)
    np.testing.assert_array_equal(outputs(model)[0], model.predict(X))


@pytest.mark.parametrize("members", ["folds", "refit"])
def test_an_ensemble_gives_the_same_probabilities(members):
    refit = {"rule": "ensemble", "members": members}
    letters = np.array(["a", "b", "c"])[y]
    search = logistic(scoring="neg_log_loss", refit=refit).set_params(cv=3)
    search.fit(X, letters)
    options = {id(search): {"zipmap": False}}
    labels, probabilities = outputs(search, options=options)
    np.testing.assert_array_equal(labels, search.predict(X))
    np.testing.assert_allclose(probabilities, search.predict_proba(X), atol=1e-5)


def test_an_ensemble_of_regressors_gives_the_same_predictions():
    space = {"alpha": [0.1, 1.0, 10.0]}
    search = BayesSearchCV(Ridge(), space, n_iter=3, cv=3, refit="ensemble")
    search.fit(X[:, :3], X[:, 3])
    (predicted,) = outputs(search, X[:, :3])
    np.testing.assert_allclose(predicted.ravel(), search.predict(X[:, :3]), atol=1e-5)


def test_an_ensemble_without_probabilities_is_refused():
    search = BayesSearchCV(SVC(), {"C": [0.1, 1.0]}, n_iter=2, refit="ensemble")
    with pytest.raises(ValueError, match="Only ensembles whose members have prob"):
        outputs(search.fit(X, y))


# NGramVectorizer has no converter.
WITH_CONVERTER = [kind for kind in SEARCHES if kind is not TextRepresentationSearchCV]


@pytest.mark.parametrize("kind", WITH_CONVERTER)
def test_every_search_is_converted(kind):
    search = make(kind, n_iter=4).fit(*data(kind))
    # Splits of trees are rounded to single precision.
    assert np.mean(outputs(search)[0] == search.predict(X)) > 0.95
