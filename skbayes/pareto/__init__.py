"""Search for the Pareto front of several objectives."""
