"""Options that meet in the final model of a search, in pairs drawn at random."""

import pytest
from final_cases import Case

# Those between take longer; the script with 1,000 cases includes them.
SEEDS = (*range(2, 17), *range(23, 38))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_final_model_is_what_was_promised_or_its_options_are_refused(seed):
    Case(seed).check()
