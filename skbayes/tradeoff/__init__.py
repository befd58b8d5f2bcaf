"""Search for the best score minus a multiple of the cost."""
