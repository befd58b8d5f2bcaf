"""Search on samples of the rows, and then on all of them."""
