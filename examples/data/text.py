"""
Texts: representation and classifier together
=============================================

:class:`~skbayes.TextRepresentationSearchCV` takes raw documents, and tunes their
representation together with the classifier. This example compares it with counts of
words. The documents are sentences of scikit-learn's own documentation.
"""

import inspect
import re
import tempfile

import joblib
import numpy as np
from sklearn import cluster, ensemble, linear_model, preprocessing
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skbayes import TextRepresentationSearchCV
from skbayes.inspection import ConvergenceDisplay

# %%
# Collect the documents
# ---------------------
#
# The class of a sentence is the package that it describes. Sentences that occur in
# several packages are assigned to the last one.
classes = {}
for package in (cluster, ensemble, linear_model, preprocessing):
    for name in package.__all__:
        doc = " ".join(inspect.getdoc(getattr(package, name)).split())
        for sentence in re.findall(r"[A-Z][^.:=>-]{40,200}\.(?= )", doc):
            classes[sentence] = package.__name__
rng = np.random.default_rng(0)
documents = rng.choice(sorted(classes), 800, replace=False)
y = [classes[sentence] for sentence in documents]
train, test, y_train, y_test = train_test_split(documents, y, random_state=0)
print(f"{y_train[0]}: {train[0]}")

# %%
# Counts of words
# ---------------
plain = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
plain_accuracy = plain.fit(train, y_train).score(test, y_test)
print(f"test accuracy with counts of words: {plain_accuracy:.3f}")

# %%
# Tune the representation
# -----------------------
#
# The search space includes n-grams of words and characters, their weights, and the
# classifier. N-grams are counted once for all trials.
search = TextRepresentationSearchCV(n_iter=30, cv=3, random_state=0)
search.fit(train, y_train)
accuracy = search.score(test, y_test)
print(f"test accuracy with the tuned representation: {accuracy:.3f}")
for name, value in search.best_params_.items():
    print(f"  {name} = {value}")
print(f"range of C: {search.search_spaces_[0]['classifier__C']}")

# %%
# If the best ``C`` is at a bound of its range, a wider range may be better. Pass it as
# ``search_spaces={"C": ...}`` (:doc:`/text`). Here, values from 1 to 100 have nearly
# equal scores.
#
# Save and load the model
# -----------------------
#
# The file contains the refitted pipeline without the search. To load it, install the
# same version of skbayes.
path = tempfile.mkdtemp() + "/model.joblib"
joblib.dump(search.best_estimator_, path)
print(joblib.load(path).predict(["The number of trees in the forest."]))

# %%
# Draw the progress
# -----------------
#
# Open points ("not comparable") are pruned trials: the search stopped them after some
# of the folds, because they were unlikely to become the best.
display = ConvergenceDisplay.from_search(search)
display.figure_.suptitle("Accuracy of the trials and best accuracy so far")
