"""
A search that takes at most a minute
====================================

A search with ``timeout`` ends after the given time, and stops fits that are still
running. The best configuration so far is then refitted. A stopping rule ends this
search earlier if further trials no longer improve the score.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.inspection import ConvergenceDisplay
from skbayes.loop import NoImprovement

X, y = load_digits(return_X_y=True)
space = {"C": (0.01, 1000.0, "log-uniform"), "gamma": (1e-5, 0.1, "log-uniform")}

# %%
# Run the search
# --------------
#
# The number of trials is much larger than a minute permits, so only the time and the
# stopping rule limit the search.
search = BayesSearchCV(
    SVC(),
    space,
    n_iter=1000,
    timeout="1 min",
    stopper=NoImprovement(15),
    cv=3,
    random_state=0,
)
search.fit(X, y)
print(f"accuracy {search.best_score_:.3f} after {len(search.trials_)} trials")
print(f"stop reason: {search.stop_reason_}")

# %%
# Draw the progress
# -----------------
display = ConvergenceDisplay.from_search(search)
display.ax_.set(title="Best accuracy so far")
plt.show()
