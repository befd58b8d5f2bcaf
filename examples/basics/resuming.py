"""
Resuming an interrupted search
==============================

With ``journal=``, a search writes each finished trial to a file. If the program is
interrupted, run it again: it continues after the last finished trial, and the result is
the same as without the interruption.
"""

from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import BayesSearchCV, load_history
from skbayes.inspection import ConvergenceDisplay

X, y = load_digits(return_X_y=True)
ranges = {"C": (1e-2, 1e3, "log-uniform"), "gamma": (1e-5, 1e-1, "log-uniform")}
journal = "search.journal"


def make_search(n_iter, journal=None):
    """Return the search that is interrupted and resumed."""
    return BayesSearchCV(
        SVC(), ranges, n_iter=n_iter, cv=3, journal=journal, random_state=0
    )


# %%
# Start the search
# ----------------
#
# To keep the example short, the first run stops after 6 trials. A run that is killed
# leaves the same file. You can read the journal at any time, even while the search is
# running.
make_search(6, journal).fit(X, y)
history = load_history(journal)
history[["number", "score", "duration", "state"]]

# %%
# Resume the search
# -----------------
#
# The second run uses the same file. It reads the finished trials and fits only the
# others. The last line compares its configurations with those of an uninterrupted
# search.
resumed = make_search(12, journal).fit(X, y)
uninterrupted = make_search(12).fit(X, y)
is_equal = resumed.cv_results_["params"] == uninterrupted.cv_results_["params"]
print(f"best accuracy: {resumed.best_score_:.4f}")
print(f"same configurations as without the interruption: {is_equal}")

# %%
# If you run this file again, the first two searches read all their trials from the
# journal. To start over, delete ``search.journal``.

# %%
# Plot the progress
# -----------------
#
# The displays also read journals. The dotted line marks the end of the first run.
display = ConvergenceDisplay.from_history(journal)
display.ax_.axvline(5.5, color="0.5", ls=":")
display.figure_.suptitle("Accuracy of the interrupted and resumed search")
