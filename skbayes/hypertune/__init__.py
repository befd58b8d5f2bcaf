"""Search on samples with the directions in which optima move: HyperTuneSearchCV."""
