"""Costs of the fits that the objective of a search uses."""
