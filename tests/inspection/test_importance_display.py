import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV, load_history
from skbayes.evaluation.trial import FoldResult, History, Trial
from skbayes.inspection import Importance, ImportanceDisplay, importance

X, y = load_iris(return_X_y=True)
SPACES = {"max_depth": (1, 5), "criterion": ["gini", "entropy"]}


def test_bars_are_the_numbers_in_order():
    found = Importance(
        {"a": 0.6, "b": 0.1},
        {("a", "b"): 0.25},
        {"a": 0.5, "b": 0.2},
        {("a", "b"): 0.1},
    )
    display = ImportanceDisplay(found).plot()
    assert [bar.get_width() for bar in display.bars_] == [0.6, 0.1]
    assert [bar.get_width() for bar in display.pair_bars_] == [0.25]
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == ["a", "b", "a × b"]
    # Whiskers stay between nothing and all.
    ends = np.array([line for line in display.whiskers_[2][0].get_segments()])[..., 0]
    np.testing.assert_allclose(ends, [[0.1, 1.0], [0.0, 0.3], [0.15, 0.35]])
    assert ImportanceDisplay(found).plot(n_shown=1).bars_.patches[-1].get_width() == 0.6


def test_a_search_its_history_and_its_journal(tmp_path):
    path = tmp_path / "search.journal"
    search = BayesSearchCV(
        DecisionTreeClassifier(random_state=0),
        SPACES,
        n_iter=8,
        cv=2,
        random_state=0,
        journal=path,
    ).fit(X, y)
    options = {"n_estimators": 10, "n_pairs": 1}
    shown = ImportanceDisplay.from_search(search, **options).importance
    assert shown == importance(search, **options)
    for source in (search.trials_, path, load_history(path)):
        display = ImportanceDisplay.from_history(
            source, search_spaces=SPACES, **options
        )
        assert display.importance == shown


def test_a_search_of_scikit_learn():
    grid = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 5]}, cv=2
    )
    display = ImportanceDisplay.from_search(grid.fit(X, y), n_estimators=5)
    assert display.importance.single["max_depth"] == pytest.approx(1.0)
    assert display.pair_bars_ is None


def test_too_few_trials():
    folds = [FoldResult({"score": 1.0}, 0.1, 0.1)]
    history = History([Trial(0, {"a": 1}, folds, 1.0)])
    display = ImportanceDisplay.from_history(history)
    assert display.importance.single == {} and len(display.ax_.texts) == 1
    with pytest.raises(ValueError, match="fewer than two configurations"):
        importance(history)
