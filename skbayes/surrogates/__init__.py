"""What is believed about the score of a configuration that was not tried."""

from skbayes.surrogates.gaussian_process import GaussianProcess

__all__ = ["GaussianProcess"]
