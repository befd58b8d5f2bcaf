"""
A search on a Dask cluster
==========================

A search sends its fits to the workers of joblib's backend: processes or threads on this
machine, or a cluster of Dask, Ray or Spark. This example runs on a Dask cluster with
two workers on this machine. It needs the extra ``dask`` (``pip install
"skbayes[dask]"``).
"""

import joblib
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.inspection import ConvergenceDisplay

X, y = load_digits(return_X_y=True)

# %%
# Define the search
# -----------------
#
# ``pre_dispatch=3`` keeps three trials in flight: trial 8 is chosen from the scores of
# trials 0 to 5. Since it is an int, the configurations do not depend on the
# number of workers.
search = BayesSearchCV(
    SVC(),
    {"C": (1e-2, 1e3, "log-uniform"), "gamma": (1e-5, 1e-1, "log-uniform")},
    n_iter=9,
    cv=3,
    pre_dispatch=3,
    random_state=0,
)

# %%
# Run it on the cluster
# ---------------------
#
# For another cluster, pass the address of its scheduler to ``Client``. skbayes must be
# installed on its workers.
cluster = LocalCluster(
    n_workers=2,
    threads_per_worker=1,
    processes=False,  # workers are threads, so that the script needs no main guard
    dashboard_address="127.0.0.1:0",
)
with cluster, Client(cluster), joblib.parallel_config(backend="dask"):
    search.fit(X, y)
print(f"best accuracy: {search.best_score_:.4f} with {search.best_params_}")

# %%
# Draw the convergence
# --------------------
display = ConvergenceDisplay.from_search(search, by="seconds")
display.figure_.suptitle("Three trials in flight on two workers")

# %%
# Compare with a search without the cluster
# -----------------------------------------
#
# This part is not needed in practice. It shows that the same search tries the same
# configurations on one worker.
local = clone(search).fit(X, y)
same = local.cv_results_["params"] == search.cv_results_["params"]
print(f"same configurations: {same}")
