"""Tracking of searches: MLflow, Weights & Biases and others, and Optuna studies."""

from skbayes.tracking.mlflow_runs import log_to_mlflow
from skbayes.tracking.optuna_export import export_to_optuna
from skbayes.tracking.trial_logger import TrialLogger

__all__ = ["TrialLogger", "export_to_optuna", "log_to_mlflow"]
__dir__ = __all__.copy
