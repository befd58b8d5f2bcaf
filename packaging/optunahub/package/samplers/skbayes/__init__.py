"""Sampler of skbayes for OptunaHub."""

from skbayes.integration import OptunaSampler

__all__ = ["OptunaSampler"]
