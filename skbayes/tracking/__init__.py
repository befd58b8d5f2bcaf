"""Tracking of searches: MLflow and Optuna studies."""

from skbayes.tracking.mlflow_runs import log_to_mlflow
from skbayes.tracking.optuna_export import export_to_optuna

__all__ = ["export_to_optuna", "log_to_mlflow"]
__dir__ = __all__.copy
