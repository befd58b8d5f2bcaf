"""Import me first: keeps the numerical libraries on one thread.

The libraries read these variables when they are loaded, so this has to happen before
NumPy is imported.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
