"""Parameters of plain fits with a number of rounds."""

from skbayes.options.early_stopping.lookup import round_settings


def round_params(estimator, rounds):
    name, settings = round_settings(estimator, {})
    return settings | {name: rounds}
