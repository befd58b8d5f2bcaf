"""
MultiStageSearchCV: most trials on a part of the rows
=====================================================

:class:`~skbayes.MultiStageSearchCV` runs most of its trials on a part of the training
rows, and the best of them again on all rows. This example compares it with
:class:`~skbayes.BayesSearchCV`, which runs as many trials on all rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from skbayes import BayesSearchCV, MultiStageSearchCV
from skbayes.inspection import ConvergenceDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Run both searches
# -----------------
#
# The first stage uses a fifth of the rows, and the second stage uses all rows.
space = {"C": (1e-2, 1e3, "log-uniform"), "gamma": (1e-5, 1e-1, "log-uniform")}
common = {"n_iter": 24, "cv": 3, "random_state": 0}
plain = BayesSearchCV(SVC(), space, **common).fit(X_train, y_train)
staged = MultiStageSearchCV(SVC(), space, stages=(0.2, 1.0), n_promoted=5, **common)
staged.fit(X_train, y_train)
for search in (plain, staged):
    seconds = sum(trial.duration for trial in search.trials_)
    print(
        f"{type(search).__name__}: {len(search.trials_)} trials in {seconds:.1f} s, "
        f"test accuracy {search.score(X_test, y_test):.3f}"
    )

# %%
# Compare the stages
# ------------------
#
# The best five configurations of the first stage were fitted again on all rows. Their
# rank correlation is 1 if both stages rank them in the same order. The correlation of
# the model compares the predictions of the first stage with the scores of the second.
staged.stage_correlation_.round(2)

# %%
# Draw the stages and the progress
# --------------------------------
#
# On the left, each stage has a color. On the right, the line of the search in stages
# begins with its first trial on all rows.
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ConvergenceDisplay.from_search(staged, ax=axes[0])
ConvergenceDisplay.from_search(plain, by="seconds", ax=axes[1])
ConvergenceDisplay.from_search(staged, by="seconds", ax=axes[1])
figure.suptitle("Scores of both stages, and best score over time")
