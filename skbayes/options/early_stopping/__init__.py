"""Early stopping: the number of rounds that is best for a trial, from one fit."""
