"""Fitted estimators of the folds, and out-of-fold predictions: `return_folds`."""
