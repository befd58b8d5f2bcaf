"""Linear algebra threads, optional packages, processes, and suggestions for names."""
