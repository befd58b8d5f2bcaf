"""Options that meet in the final model of a search, in pairs drawn at random."""

import pytest
from final_cases import Case


@pytest.mark.parametrize("seed", range(20))
def test_the_final_model_is_what_was_promised_or_its_options_are_refused(seed):
    Case(seed).check()
