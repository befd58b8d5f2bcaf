"""Linear algebra threads, optional packages, and suggestions for misspelled names."""

from skbayes.utils.blas import one_blas_thread
from skbayes.utils.did_you_mean import did_you_mean, suggest
from skbayes.utils.optional import import_optional

__all__ = ["did_you_mean", "import_optional", "one_blas_thread", "suggest"]
__dir__ = __all__.copy
