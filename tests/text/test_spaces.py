import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from skbayes.space import Choice, Space
from skbayes.text import LiblinearClassifier, NGramVectorizer
from skbayes.text.spaces import SPACES, first_points, merged_space, text_space

PIPELINE = Pipeline(
    [("vectorizer", NGramVectorizer()), ("classifier", LiblinearClassifier())]
)


def _draws(space, n):
    whole = Space.from_notation(space)
    uniform = np.random.default_rng(0).random((n, whole.n_columns))
    return whole.decode(whole.from_uniform(uniform))


@pytest.mark.parametrize("space", SPACES)
def test_all_parameters_exist(space):
    for params in _draws(text_space(space), 100):
        PIPELINE.set_params(**params)
        vectorizer = PIPELINE.named_steps["vectorizer"]
        vectorizer.fit(["a text of some words, a few words"] * 5 + ["other text"] * 5)


def test_the_papers_space():
    space = Space.from_notation(text_space("paper"))
    corners = {
        "vectorizer__ngram_range": (2, 3),
        "vectorizer__weighting": "tf",
        "vectorizer__stop_words": None,
        "classifier__penalty": "l1",
        "classifier__C": 1e-5,
        "classifier__tol": 1e-1,
    }
    assert corners in space
    assert {**corners, "vectorizer__ngram_range": (3, 2)} not in space
    assert {**corners, "classifier__tol": 0.2} not in space


def test_the_papers_space_lies_in_the_extended_one():
    extended = Space.from_notation(text_space("extended"))
    for params in _draws(text_space("paper"), 50):
        if params["vectorizer__ngram_range"][1] > 1:
            params["vectorizer__max_gap"] = 0
        if params["vectorizer__weighting"] != "binary":
            params["vectorizer__sublinear_tf"] = False
        params |= {
            "vectorizer__analyzer": "word",
            "vectorizer__stemmer": None,
            "vectorizer__normalize_numbers": False,
            "vectorizer__min_df": 1,
            "vectorizer__max_df": 1.0,
            "vectorizer__norm": None,
        }
        assert params in extended


@pytest.mark.parametrize("language", ["english", "german"])
def test_first_points_lie_in_the_space(language):
    space = Space.from_notation(text_space("extended", language=language))
    assert all(point in space for point in first_points(language))


def test_languages():
    # Stop words but no stems, stems but no stop words, and neither.
    assert text_space("paper", language="korean")["vectorizer__stop_words"] == [
        None,
        "korean",
    ]
    words = dict(
        zip(
            ["word", "char", "char_wb"],
            text_space("extended", language="irish")["vectorizer__analyzer"].sub_spaces,
            strict=True,
        )
    )["word"]
    assert words["vectorizer__stemmer"] == [None, "irish"]
    assert words["vectorizer__stop_words"] == [None]
    assert text_space(language=None)["vectorizer__stop_words"] == [None]
    with pytest.raises(ValueError, match="language='klingon' is not known"):
        text_space("paper", language="klingon")


def test_own_stop_words():
    space = text_space("paper", language="klingon", stop_words=["b", "a"])
    assert space["vectorizer__stop_words"] == [None, ("a", "b")]


def test_merging_keeps_sub_spaces_of_what_is_left():
    base = {"kind": Choice({"a": {"x": [1, 2], "y": [3]}, "b": {"x": [5]}}), "z": [0]}
    merged = merged_space(base, {"kind": ["a"], "x": [2], "new": [1]})
    space = Space.from_notation(merged)
    assert {"kind": "a", "x": 2, "y": 3, "z": 0, "new": 1} in space
    assert int(space.n_cells) == 1


def test_merging_replaces_wherever_it_stands():
    base = {"kind": Choice({"a": {"x": [1, 2]}, "b": {"x": [5]}, "c": {}})}
    space = Space.from_notation(merged_space(base, {"x": [7, 8]}))
    assert int(space.n_cells) == 5
    assert {"kind": "b", "x": 8} in space
    assert {"kind": "c"} in space


def test_unknown_space():
    with pytest.raises(ValueError, match="space must be one of"):
        text_space("large")
