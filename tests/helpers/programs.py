"""Environment of programs that tests start."""

import os
import sys
from pathlib import Path


def environment(**more):
    """Return an environment with the modules of this process and of this folder."""
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}
