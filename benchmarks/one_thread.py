"""Environment variables that limit the numerical libraries to one thread.

The libraries read these variables when they are loaded. This module therefore has to be
imported before NumPy.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
