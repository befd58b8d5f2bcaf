"""What all tests of the searches share."""

from pathlib import Path

import pytest

# scikit-learn 1.6 passes options to L-BFGS-B that newer SciPy releases warn about.
OLD_RELEASE = "ignore:scipy.optimize. The `disp` and `iprint`:DeprecationWarning"


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings(OLD_RELEASE))
