"""Early stopping: the best number of rounds of a trial, from one fit per fold."""
