"""
Texts: representation and classifier together
=============================================

:class:`~skbayes.TextRepresentationSearchCV` takes raw documents, and tunes their
representation together with the classifier. This example compares it with counts of
words. The documents are sentences of scikit-learn's own documentation.
"""

import inspect
import re

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
        text = " ".join(inspect.getdoc(getattr(package, name)).split())
        for sentence in re.findall(r"[A-Z][^.:=>-]{40,200}\.(?= )", text):
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
search = TextRepresentationSearchCV(n_iter=25, cv=3, random_state=0)
search.fit(train, y_train)
accuracy = search.score(test, y_test)
print(f"test accuracy with the tuned representation: {accuracy:.3f}")
for name, value in search.best_params_.items():
    print(f"  {name} = {value}")

# %%
# Draw the progress
# -----------------
#
# The scores are means over the folds of the cross-validation.
ConvergenceDisplay.from_search(search)
