"""The published evaluator with named repairs: see `rules` for what each one does."""
