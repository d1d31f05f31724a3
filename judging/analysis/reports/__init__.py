"""Reports: one structure for every figure, and what writes and shows it."""
