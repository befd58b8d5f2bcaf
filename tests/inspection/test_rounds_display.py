"""Display of learning curves; test_displays.py tests common properties."""

import pickle

import drawn_searches as drawn
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skbayes import load_history
from skbayes.evaluation.learning_curves import round_grid
from skbayes.evaluation.trial import History
from skbayes.inspection import RoundsDisplay
from skbayes.inspection.style import EDGE

CAP = {"max_rounds": 400}


def trial(number, *curves, **more):
    """Return a trial whose splits have these curves, of at most 400 rounds."""
    mean = np.mean([one[: min(map(len, curves))] for one in curves], axis=0)
    place = int(np.argmax(mean))
    folds = [
        drawn.fold(curve[place], extras={"curves": {"score": [*curve]}} | CAP)
        for curve in curves
    ]
    extras = {"rounds": int(round_grid(400)[place])}
    extras = {} if more.get("state") == "pruned" else extras
    return drawn.trial(
        number, float(mean[place]), **{"extras": extras} | more, folds=folds
    )


def made(*trials):
    return RoundsDisplay.from_history(History(trials))


LOW, HIGH = [0.2, 0.4, 0.3], [0.6, 0.7, 0.8]


def test_curves_are_those_of_the_search():
    search = drawn.search("rounds")
    display = RoundsDisplay.from_search(search)
    curves = search.learning_curves_
    for place, number in enumerate(display.record.number):
        for split, scores in enumerate(display.scores[place]):
            own = curves[(curves["trial"] == number) & (curves["split"] == split)]
            expected = -own["test_neg_log_loss"][: len(scores)]
            np.testing.assert_allclose(scores, expected)
            assert display.rounds[place].tolist() == list(own["rounds"][: len(scores)])
    np.testing.assert_array_equal(display.chosen, search.cv_results_["rounds"])
    assert display.record.number[display.best] == search.best_index_
    assert display.ax_.get_ylabel() == "log loss (lower is better)"
    n_rounds = search.best_params_["n_estimators"]
    assert display.star_.get_xdata() == [n_rounds]
    assert f"with {n_rounds} rounds" in display._alt
    chosen = curves[
        (curves["trial"] == search.best_index_) & (curves["rounds"] == n_rounds)
    ]
    expected = -chosen["test_neg_log_loss"].mean()
    np.testing.assert_allclose(display.star_.get_ydata(), [expected])


def test_another_metric():
    display = RoundsDisplay.from_search(drawn.search("rounds"), metric="accuracy")
    assert display.record.sign == 1
    search = drawn.search("rounds")
    means = [one.mean(axis=0) for one in display.scores]
    found = [
        mean[np.searchsorted(rounds, chosen)]
        for mean, rounds, chosen in zip(
            means, display.rounds, display.chosen, strict=True
        )
    ]
    curves = search.learning_curves_.groupby(["trial", "rounds"])
    means = curves["test_accuracy"].mean()
    kept = np.flatnonzero(display.chosen)
    expected = [means[display.record.number[i], display.chosen[i]] for i in kept]
    np.testing.assert_allclose(np.array(found)[kept], expected)


def test_the_mean_ends_with_the_shortest_split():
    display = made(trial(0, [0.1, 0.5, 0.9], [0.3, 0.5]), trial(1, LOW))
    np.testing.assert_allclose(display.best_line_.get_ydata(), [0.2, 0.5])
    assert display.star_.get_xdata() == [2]
    (band,) = display.band_.get_paths()
    assert {0.1, 0.3, 0.5} == set(band.vertices[:, 1].round(6))


def test_trials_are_grouped():
    display = made(
        trial(0, LOW),
        trial(1, HIGH),
        trial(2, LOW, state="pruned"),
        trial(3, LOW, train_fraction=0.5),
        trial(4, LOW, state="timed_out"),
        drawn.trial(5),
    )
    other = "fewer rows, or not finished"
    assert list(display.group) == ["complete"] * 2 + ["pruned", other, other]
    assert display.chosen.tolist() == [2, 3, 0, 2, 2]
    counts = {name: len(lines.get_paths()) for name, lines in display.lines_.items()}
    assert counts == {"complete": 1, "pruned": 1, other: 2}
    dashes = {str(lines.get_linestyles()) for lines in display.lines_.values()}
    assert len(dashes) == 3
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0] == "complete (1)" and "3 rounds" in texts


def test_dots_are_at_the_chosen_rounds_or_the_end():
    bad = [-9.0, -8.0, -8.5]
    good = [trial(k, LOW) for k in range(4)]
    display = made(*good, trial(4, HIGH), trial(5, bad, state="pruned"))
    dots = display.points_.get_offsets().tolist()
    assert dots == [[2.0, 0.4]] * 4 + [[3.0, -8.5]]
    # The pruned one is out of sight.
    (edge,) = [one for one in display.ax_.collections if one.get_gid() == EDGE]
    assert edge.get_offsets()[:, 0].tolist() == [3.0]


def test_many_rounds_are_on_a_logarithmic_axis():
    assert made(trial(0, LOW)).ax_.get_xscale() == "linear"
    ax = made(trial(0, np.linspace(0.0, 1.0, len(round_grid(400))))).ax_
    assert ax.get_xscale() == "log"
    ax.figure.canvas.draw()
    texts = {text.get_text() for text in ax.get_xticklabels()}
    assert {"100", "200"} <= texts
    # First rounds that are out of sight are left out.
    rise = [-9.0] * 10 + [0.5, 0.6, 0.7, 0.8] * 10
    ax = made(trial(0, rise)).ax_
    assert ax.get_xlim()[0] == 11
    low, high = ax.get_ylim()
    assert -9.0 < low < 0.5 and high > 0.8


def test_a_search_from_elsewhere_gives_the_same_picture():
    search = drawn.search("rounds")
    path = search.journal
    one = RoundsDisplay.from_search(search)
    for source in (pickle.loads(pickle.dumps(search)), path, search.trials_):
        other = RoundsDisplay.from_history(source, metric="neg_log_loss")
        np.testing.assert_equal(other.scores, one.scores)
        np.testing.assert_equal(other.rounds, one.rounds)
        assert other.chosen.tolist() == one.chosen.tolist()
        assert other.best == one.best
    for source in (load_history(path), search.cv_results_):
        with pytest.raises(ValueError, match="There are no learning curves"):
            RoundsDisplay.from_history(source)


def test_before_the_first_score_and_without_rounds():
    for scores in ((), (None, None)):
        display = RoundsDisplay.from_history(drawn.history(*scores))
        assert display.best is None
        texts = [text.get_text() for text in display.ax_.texts]
        assert texts == ["no trial has a score"]
    display = made(trial(0, LOW, state="pruned"))
    assert display.best is display.best_line_ is display.star_ is None
    display.figure_.canvas.draw()
    grid = GridSearchCV(SVC(), {"C": [1, 2]}, cv=2).fit(drawn.X, drawn.y)
    for search in (drawn.search("bayes"), grid):
        with pytest.raises(ValueError, match="made without rounds"):
            RoundsDisplay.from_search(search)


def test_it_can_be_drawn_again_on_axes_of_the_user():
    first = made(trial(0, LOW), trial(1, HIGH))
    ax = plt.subplots()[1]
    assert first.plot(ax, line_kw={"lw": 5.0, "color": "red"}) is first
    assert first.ax_ is ax
    assert first.best_line_.get_linewidth() == 5.0
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        first.plot("ax")
