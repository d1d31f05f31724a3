"""English: not only American."""
