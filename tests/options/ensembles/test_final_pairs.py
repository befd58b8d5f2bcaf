"""Options that meet in the final model of a search, in pairs drawn at random."""

import pytest
from final_cases import Case

# Draws that are mostly ensembles: with most learners, modifiers, splits and metrics.
ENSEMBLES = (0, 10, 16, 21, 27, 31, 37, 38, 44, 46, 56, 63, 68, 71, 81, 83, 85)
SINGLE, REFUSED = (5, 12, 23, 32, 48, 80), (3, 9, 17, 65)
# Draws with one fold, or samples, before all folds, and some that have only these.
TIMED = (7, 32, 34, 59, 96, 144, 149, 200, 201, 204, 237, 240, 323)


@pytest.mark.parametrize("seed", [*ENSEMBLES, *SINGLE, *REFUSED])
def test_drawn_options_give_the_documented_model_or_an_error(seed):
    Case(seed).check()


@pytest.mark.parametrize("seed", TIMED)
def test_drawn_options_choose_a_documented_model_in_time(seed, fake_clock):
    Case(seed, is_timed=True).check()
