"""
Text and classifier, tuned together
===================================

The example generates short messages of two kinds, so that it needs no download. The
kinds differ in pairs of words rather than in single words.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skbayes import TextRepresentationSearchCV

THINGS = ["plot", "music", "acting", "ending", "camera", "dialogue"]
FILLER = ["and", "but", "then", "well", "so", "the", "a", "really", "on the whole"]


def message(praise, rng):
    """Say of one thing that it is good, and of another that it is bad, or neither."""
    one, other = rng.choice(THINGS, 2, replace=False)
    said = ["good", "not bad"] if praise else ["bad", "not good"]
    return " ".join(
        [*rng.choice(FILLER, rng.integers(2, 8)), one, said[0], "and", other, said[1]]
    )


rng = np.random.default_rng(0)
labels = rng.integers(0, 2, 400)
texts = [message(label, rng) for label in labels]
train, test = slice(0, 200), slice(200, 400)

# %%
# A fixed representation, and one that is searched
# -------------------------------------------------
#
# Counts of single words cannot tell "good" from "not good".
# :class:`~skbayes.TextRepresentationSearchCV` finds out that pairs can.

plain = make_pipeline(CountVectorizer(), LogisticRegression())
plain.fit(texts[train], labels[train])
print(f"single words: {plain.score(texts[test], labels[test]):.3f}")

search = TextRepresentationSearchCV(n_iter=15, cv=3, random_state=0)
search.fit(texts[train], labels[train])
print(f"searched: {search.score(texts[test], labels[test]):.3f}, with")
for name, value in search.best_params_.items():
    print(f"  {name} = {value}")
