"""Evaluators that compare an outcome with a reference: pure, usable from a notebook."""
