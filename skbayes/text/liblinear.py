"""Linear classifiers that are fitted by LIBLINEAR."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data

from skbayes.compat import (
    DocumentationLink,
    Interval,
    LinearClassifierMixin,
    StrOptions,
    fit_context,
)
from skbayes.text._liblinear import (
    SOLVERS,
    Problem,
    Trained,
    import_library,
    is_installed,
    lay_out,
    library_name,
    presence,
)
from skbayes.utils.optional import warn_user
from skbayes.utils.pickled_version import PickledVersion

# Weight of the logistic link in the probabilities of the squared hinge loss. It
# separates probabilities that would otherwise all be clipped to 0 or 1.
TIE = 1e-6


def _has_probabilities(classifier: LiblinearClassifier) -> bool:
    """Return whether the loss provides probabilities; raise AttributeError if not."""
    if classifier.loss not in ("logistic", "squared_hinge"):
        raise AttributeError(
            f"loss={classifier.loss!r} gives no probabilities. Use loss='logistic' or "
            "'squared_hinge'."
        )
    return True


class LiblinearClassifier(
    DocumentationLink, PickledVersion, LinearClassifierMixin, BaseEstimator
):
    """Linear classifier fitted by LIBLINEAR.

    It provides the support vector machines and the logistic regression of LIBLINEAR
    [1]_, version 2.43 or newer, with ℓ1 or ℓ2 penalty. It is mainly meant for sparse
    data. Problems with more than two classes are solved as one binary problem per
    class.

    The library is the package liblinear-official, which ``pip install "skbayes[text]"``
    installs. Without it, the classifier uses scikit-learn's copy of LIBLINEAR, in
    LinearSVC and LogisticRegression, logs this once, and sets ``library_`` accordingly.
    The parameters mean the same; only ``penalize_intercept=False`` needs
    liblinear-official.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        Norm of the penalty on the weights; "l1" makes many weights 0.
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        Loss function. "logistic" is logistic regression; the others are support vector
        machines. "hinge" requires the penalty "l2" and provides no probabilities. The
        probabilities of the squared hinge loss are estimated as in [3]_.
    dual : bool or "auto", default="auto"
        Whether to solve the dual problem. "auto" chooses the dual problem for the loss
        "hinge", which supports no other. For the other losses, it chooses the dual
        problem if the penalty is "l2", there are fewer samples than features, and the
        intercept is penalized. It is several times faster in this case. The penalty
        "l1" supports only the primal problem.
    C : float, default=1.0
        Weight of the losses relative to the penalty, above 0. Smaller values mean
        stronger regularization.
    tol : float, default=None
        Stopping tolerance, above 0, as defined by LIBLINEAR. In primal problems and
        with the penalty "l1", it is the norm of the gradient relative to its initial
        value, multiplied by the fraction of the smaller class. In dual problems, it is
        the largest violation of the optimality conditions. None means the default of
        the library: 0.01 in the first case and 0.1 in the second.
    fit_intercept : bool, default=True
        Whether to fit an intercept. For text, the benefit of an intercept rarely
        justifies its computing time.
    intercept_scaling : float, default=1.0
        Value of the constant feature whose weight gives the intercept, above 0. Larger
        values reduce the effect of the penalty on the intercept.
    penalize_intercept : bool, default=True
        Whether the penalty includes the intercept. False requires that
        `intercept_scaling` is 1, that the solver is primal or has the penalty "l1", and
        that liblinear-official is installed.
    class_weight : dict or "balanced", default=None
        Factors of `C` by class; missing classes have the factor 1. "balanced" gives all
        classes the same total weight. With more than two classes, the factor of a class
        applies to its own samples when it is separated from the rest. The samples of
        the rest have the factor 1, as in LIBLINEAR.
    feature_scaling : {"log-count-ratio"} or None, default=None
        "log-count-ratio" multiplies each feature by the logarithm of the ratio of its
        relative frequencies in the two classes of a binary problem [2]_. The frequency
        of a feature is the number of samples in which it is not 0, plus 1. ``coef_``
        includes these factors and therefore applies to unscaled features.
    n_jobs : int or None, default=None
        Number of binary problems that are solved in parallel, with more than two
        classes. Solvers that draw random numbers (dual solvers and those with the
        penalty "l1") run in processes, unless the joblib backend uses threads; in
        threads, they run one at a time. Other solvers run in threads. None means 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which dual solvers and those with the penalty "l1" visit
        the coordinates. It changes the result by about `tol`. The other solvers draw no
        random numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; a single row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 if `fit_intercept` is False.
    n_iter_ : int
        Number of outer iterations of the solver; the maximum over the binary problems.
    solver_ : str
        Name of the LIBLINEAR solver that was used.
    library_ : {"liblinear-official", "scikit-learn"}
        Package that provided LIBLINEAR.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in,)
        Names of the features seen in `fit`, if `X` has feature names.

    See Also
    --------
    sklearn.svm.LinearSVC : Support vector machines by an older version of LIBLINEAR.
    sklearn.linear_model.LogisticRegression : Logistic regression with several solvers.

    Notes
    -----
    `fit` does not accept sample weights, because LIBLINEAR does not support them (a
    separately distributed variant of it does). If you need sample weights, use one of
    the classes above.

    Fits can run in threads. Fits that draw random numbers then run one at a time,
    because LIBLINEAR uses a single random number generator per process. Their results
    do not depend on other fits. Use processes to run them in parallel.

    References
    ----------
    .. [1] R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang and C.-J. Lin, "LIBLINEAR: a
       library for large linear classification", Journal of Machine Learning Research
       9, 2008.
    .. [2] S. Wang and C. D. Manning, "Baselines and bigrams: simple, good sentiment and
       topic classification", ACL 2012, section 2.1 and equation 2.
    .. [3] T. Zhang, "Statistical behavior and consistency of classification methods
       based on convex risk minimization", Annals of Statistics 32, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes.text import LiblinearClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = LiblinearClassifier(loss="logistic", C=10.0).fit(X, y)
    >>> classifier.coef_.shape, classifier.solver_
    ((3, 4), 'L2R_LR')
    >>> print(f"{classifier.score(X, y):.3f}")
    0.967
    """

    _parameter_constraints: dict = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"squared_hinge", "hinge", "logistic"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "penalize_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "feature_scaling": [StrOptions({"log-count-ratio"}), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        C: float = 1.0,
        tol: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        penalize_intercept: bool = True,
        class_weight: dict | str | None = None,
        feature_scaling: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.penalize_intercept = penalize_intercept
        self.class_weight = class_weight
        self.feature_scaling = feature_scaling
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> LiblinearClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. A CSR matrix of float64 with sorted indices is not copied.
            LIBLINEAR itself works on one copy in its own layout, which takes 16 bytes
            per nonzero.
        y : array-like of shape (n_samples,)
            Class labels, with at least two classes.

        Returns
        -------
        self : object
            Fitted classifier.

        Raises
        ------
        ImportError
            If the parameters need liblinear-official, and it is not installed.
        ValueError
            If the data are empty or not finite, if there is only one class, or if
            LIBLINEAR has no solver for the parameters.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, but y "
                f"has one class only: {self.classes_[0]!r}."
            )
        kind = self._kind(*X.shape)
        if X.shape[1] >= np.iinfo(np.int32).max:
            raise ValueError(
                f"X has {X.shape[1]} features; select fewer than 2**31 for LIBLINEAR."
            )
        self.library_, self.solver_ = library_name(), SOLVERS[kind].name
        results = self._solved(_sorted_rows(X), y, codes, kind)
        if not all(trained.converged for trained in results):
            warn_user(
                "LIBLINEAR reached its limit of iterations; a larger tol, a smaller C "
                "or scaled features may help.",
                ConvergenceWarning,
            )
        weights = np.array([trained.weights for trained in results])
        self.n_iter_ = max(trained.n_iter for trained in results)
        self.coef_ = np.ascontiguousarray(weights[:, : X.shape[1]])
        self.intercept_ = np.zeros(len(weights))
        if self.fit_intercept:
            self.intercept_ = self.intercept_scaling * weights[:, -1]
        return self

    def _solved(
        self, X: Any, y: Any, codes: Any, kind: tuple[str, str, bool]
    ) -> list[Trained]:
        """Return the results of the binary problems, one per class or a single one."""
        n_classes, solver = len(self.classes_), SOLVERS[kind]
        scales = self.feature_scaling is not None
        bias = float(self.intercept_scaling) if self.fit_intercept else -1.0
        several = n_classes > 2 and effective_n_jobs(self.n_jobs) != 1
        # Scaling replaces the values, and addresses are only valid in this process.
        apart = scales or (several and solver.draws) or not is_installed()
        problem = Problem(
            X,
            None if apart else lay_out(X, bias),
            bias,
            codes,
            compute_class_weight(self.class_weight, classes=self.classes_, y=y),
            presence(X) if scales else None,
            kind,
            float(self.C),
            solver.tol if self.tol is None else float(self.tol),
            self.penalize_intercept or not self.fit_intercept,
        )
        # The class that each binary problem separates from the rest.
        classes = [*range(n_classes)] if n_classes > 2 else [1]
        seeds: list = [None] * len(classes)
        if solver.draws:
            rng = check_random_state(self.random_state)
            seeds = rng.randint(2**31 - 1, size=len(classes)).tolist()
        tasks = zip(seeds, classes, strict=True)
        if not several:
            return [problem.solved(*task) for task in tasks]
        # The library has one random number generator per process. Addresses require
        # threads, regardless of the backend.
        parallel = Parallel(
            n_jobs=self.n_jobs, require=None if solver.draws else "sharedmem"
        )
        return list(parallel(delayed(problem.solved)(*task) for task in tasks))

    def _kind(self, n_samples: int, n_features: int) -> tuple[str, str, bool]:
        """Return penalty, loss and whether to solve the dual, if there is a solver."""
        is_free = self.fit_intercept and not self.penalize_intercept
        dual = self.dual
        if dual == "auto":
            many_features = self.penalty == "l2" and n_samples < n_features
            dual = self.loss == "hinge" or (many_features and not is_free)
        kind = (self.penalty, self.loss, bool(dual))
        if kind not in SOLVERS:
            raise ValueError(
                f"LIBLINEAR has no solver for penalty={self.penalty!r}, loss="
                f"{self.loss!r}, dual={self.dual!r}: the hinge loss requires the "
                "penalty 'l2' and dual=True, and the penalty 'l1' requires dual=False."
            )
        if is_free and dual:
            raise ValueError(
                "penalize_intercept=False needs a primal solver or the penalty 'l1'; "
                "these parameters choose a dual one."
            )
        if is_free and self.intercept_scaling != 1:
            raise ValueError(
                "penalize_intercept=False needs intercept_scaling=1, got "
                f"{self.intercept_scaling!r}."
            )
        self._check_packages()
        return kind

    def _check_packages(self) -> None:
        """Raise ImportError if the parameters need liblinear-official."""
        if self.fit_intercept and not self.penalize_intercept:
            import_library("penalize_intercept=False")
        library_name()

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Estimate class probabilities for the logistic or squared hinge loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes, in the order of ``classes_``.

        Notes
        -----
        The probability of a decision value f is the one for which f minimizes the
        expected loss (Zhang 2004). It is 1 / (1 + exp(-f)) for the logistic loss, and
        (1 + f) / 2, clipped to [0, 1], for the squared hinge loss. With more than two
        classes, the probabilities of each class against the rest are scaled to a sum
        of 1.
        """
        values = self.decision_function(X)
        link = expit if self.loss == "logistic" else _squared_hinge_link
        if values.ndim == 1:
            return np.column_stack([link(-values), link(values)])
        probabilities = link(values)
        totals = probabilities.sum(axis=1, keepdims=True)
        # Far from all classes, all probabilities may underflow.
        uniform = np.full_like(probabilities, 1 / probabilities.shape[1])
        return np.divide(probabilities, totals, out=uniform, where=totals > 0)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Estimate the logarithms of the probabilities of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _sorted_rows(X: Any) -> sparse.csr_matrix:
    """Return `X` as a CSR matrix with sorted columns, without changing the input."""
    if not sparse.issparse(X):
        return sparse.csr_matrix(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _squared_hinge_link(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return probabilities that increase strictly with the decision values."""
    clipped = (1.0 + np.clip(values, -1.0, 1.0)) / 2.0
    return (1.0 - TIE) * clipped + TIE * expit(values)
