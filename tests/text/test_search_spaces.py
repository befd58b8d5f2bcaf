import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from skbayes.space import Ordinal, Space
from skbayes.text import LiblinearClassifier, NGramVectorizer
from skbayes.text.search_spaces import SPACES, first_points, text_space

PIPELINE = Pipeline(
    [("vectorizer", NGramVectorizer()), ("classifier", LiblinearClassifier())]
)


def _offered(space, name):
    columns = Space.from_notation(space).columns
    return {
        value
        for column in columns
        if column.name == f"vectorizer__{name}"
        for value in column.dimension.values
    }


def _draws(space, n):
    whole = Space.from_notation(space)
    uniform = np.random.default_rng(0).random((n, whole.n_columns))
    return whole.decode(whole.from_uniform(uniform))


@pytest.mark.parametrize("space", SPACES)
def test_drawn_parameters_can_be_set_and_fitted(space):
    texts = ["a text of some words, a few words"] * 5 + ["other text"] * 5
    for params in _draws(text_space(space), 40):
        PIPELINE.set_params(**params)
        vectorizer = PIPELINE.named_steps["vectorizer"].fit(texts)
        assert len(vectorizer.get_feature_names_out())
        defaults = PIPELINE.get_params()
        assert all(defaults[name] == value for name, value in params.items())


def test_the_space_of_the_paper_has_its_bounds():
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
    # Parameters other than the n-gram range are shared by all branches.
    names = [column.name for column in space.columns]
    assert names.count("classifier__C") == 1
    assert names.count("vectorizer__ngram_range") == 3


def test_the_extended_space_is_the_default():
    spaces = [Space.from_notation(text_space(*name)) for name in ([], ["extended"])]
    assert repr(spaces[0]) == repr(spaces[1])
    names = {column.name for column in spaces[0].columns}
    # The classifier's own tolerance is used, and not searched.
    assert "vectorizer__analyzer" in names and "classifier__tol" not in names


@pytest.mark.parametrize("language", ["english", "german"])
def test_first_points_lie_in_the_space(language):
    space = Space.from_notation(text_space("extended", language=language))
    assert all(point in space for point in first_points(language))


@pytest.mark.parametrize(
    "space, options, stop_words, stemmers",
    [
        ("paper", {"language": "korean"}, {None, "korean"}, set()),
        ("paper", {"language": None}, {None}, set()),
        ("extended", {"language": "irish"}, {None}, {None, "irish"}),
        # Stop words are offered if there are no stems.
        ("extended", {"language": "korean"}, {None, "korean"}, {None}),
        ("extended", {"stop_words": {"b", "a"}}, {None, ("a", "b")}, {None, "english"}),
        (
            "paper",
            {"language": "klingon", "stop_words": ["b", "a"]},
            {None, ("a", "b")},
            set(),
        ),
    ],
)
def test_options_depend_on_the_language(space, options, stop_words, stemmers):
    branches = text_space(space, **options)
    assert _offered(branches, "stop_words") == stop_words
    assert _offered(branches, "stemmer") == stemmers


def test_other_languages_and_spaces_are_refused():
    with pytest.raises(ValueError, match="language='klingon' is not supported"):
        text_space("paper", language="klingon")
    with pytest.raises(ValueError, match="space must be one of"):
        text_space("large")


def test_changes_keep_what_their_options_demand():
    changes = {"vectorizer__analyzer": ["char", "word"]}
    (space,) = text_space("extended", changes=changes)
    whole = Space.from_notation(space)
    assert set(_offered(space, "analyzer")) == {"char", "word"}
    assert "vectorizer__token_pattern" in whole.parameter_names
    changes = {"vectorizer__analyzer": ["char"], "vectorizer__stemmer": ["german"]}
    with pytest.raises(ValueError, match="has an effect only with .*'word'"):
        text_space("extended", changes=changes)


@pytest.mark.parametrize(
    "ngrams, tree",
    [
        (None, [[(1, 1), (1, 2), (1, 3)], [(2, 2), (2, 3)], [(3, 3)]]),
        ([(1, 2)], [[(1, 2)]]),
        ([(2, 2), (1, 2), (1, 1)], [[(1, 2), (1, 1)], [(2, 2)]]),
        ([(1, 1), (1, 5)], [[(1, 1)], [(1, 5)]]),
    ],
)
def test_changes_of_the_tree(ngrams, tree):
    changes = {"vectorizer__ngram_range": ngrams} if ngrams else None
    branches = text_space("paper", changes=changes)
    assert [branch["vectorizer__ngram_range"] for branch in branches] == tree


@pytest.mark.parametrize("ngram_ranges", [None, [(2, 2), (1, 5)]])
def test_orders_of_the_extended_space_are_one_ordered_choice(ngram_ranges):
    changes = {"vectorizer__ngram_range": ngram_ranges} if ngram_ranges else {}
    (space,) = text_space("extended", changes=changes)
    for sub in space["vectorizer__analyzer"].sub_spaces:
        orders = sub["vectorizer__ngram_range"]
        if ngram_ranges:
            assert orders == ngram_ranges
        else:
            assert isinstance(orders, Ordinal)
            assert list(orders.values) == sorted(orders.values)


def test_many_characters_leave_words_only():
    short, many = (text_space(n_characters=n) for n in (50_000_000, 50_000_001))
    assert _offered(short, "analyzer") == {"word", "char", "char_wb"}
    assert _offered(many, "analyzer") == {"word"}
    changes = {"vectorizer__analyzer": ["char"]}
    branches = text_space(n_characters=10**9, changes=changes)
    assert _offered(branches, "analyzer") == {"char"}
    assert (3, 6) in _offered(branches, "ngram_range")


def test_english_stems_are_left_out_without_their_package(hide, caplog):
    hide("snowballstemmer", "stop_words")
    text_space("paper")  # scikit-learn's stop words
    for _ in range(2):
        space = text_space("extended")
    assert _offered(space, "stemmer") == {None}
    assert _offered(space, "stop_words") == {None, "english"}
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "stemming needs snowballstemmer" in record.message
    assert 'pip install "skbayes[text]"' in record.message


@pytest.mark.parametrize("space", SPACES)
def test_another_language_needs_a_package(space, hide):
    hide("snowballstemmer", "stop_words")
    with pytest.raises(ImportError, match=r'"skbayes\[text\]"'):
        text_space(space, language="german")
    branches = text_space(space, language="german", stop_words=["und"])
    assert _offered(branches, "stop_words") == {None, ("und",)}


def test_one_of_two_packages_is_enough(hide, caplog):
    hide("stop_words")
    space = text_space("extended", language="german")
    assert _offered(space, "stemmer") == {None, "german"}
    assert _offered(space, "stop_words") == {None}
    assert not caplog.records
