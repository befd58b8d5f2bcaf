"""Version of skbayes in pickles."""

import copy
import pickle
import subprocess
import sys
import warnings

import pytest
from every_search import SEARCHES, make
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import make_pipeline

from skbayes import Optimizer
from skbayes.text import LiblinearClassifier, NGramVectorizer
from skbayes.utils import pickled_version

THINGS = [
    *map(make, SEARCHES),
    Optimizer({"a": [1, 2]}),
    NGramVectorizer(),
    LiblinearClassifier(),
]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_a_pickle_of_another_version_says_so(thing, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(thing))
        copy.deepcopy(again)
    assert vars(again).keys() == vars(thing).keys()
    for other in (clone(THINGS[0]), copy.copy(THINGS[0])):
        assert not [name for name in vars(other) if "version" in name]
    old = pickle.dumps(thing)
    monkeypatch.setattr(pickled_version, "_version", lambda: "99.0")
    with pytest.warns(InconsistentVersionWarning) as caught:
        pickle.loads(old)
    (message,) = {str(one.message) for one in caught}
    assert type(thing).__name__ in message
    assert "skbayes 0." in message and "this is skbayes 99.0" in message


def test_a_pickle_without_a_version_says_so():
    state = Optimizer({"a": [1, 2]}).__getstate__()
    del state["_skbayes_version"]
    with pytest.warns(InconsistentVersionWarning, match="of an unknown version"):
        Optimizer.__new__(Optimizer).__setstate__(state)


# Each import of it fails.
DEPLOYED = """
import pickle, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"liblinear", "stop_words", "snowballstemmer"}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
model = pickle.load(sys.stdin.buffer)
print(model.predict(["ein gutes Buch"])[0])
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("skbayes.")}
print(*sorted(rooms))
"""


def test_a_text_model_needs_only_its_own_modules_where_it_is_deployed():
    texts = ["ein gutes Buch", "ein schlechtes Buch", "sehr gut", "sehr schlecht"] * 5
    model = make_pipeline(
        NGramVectorizer(stop_words="german", min_df=1),
        LiblinearClassifier(random_state=0),
    ).fit(texts, [1, 0, 1, 0] * 5)
    process = subprocess.run(
        [sys.executable, "-c", DEPLOYED], input=pickle.dumps(model), capture_output=True
    )
    assert process.returncode == 0, process.stderr.decode()
    assert process.stdout.decode().splitlines() == ["1", "compat text utils"]
