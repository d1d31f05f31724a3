"""Evaluations in the background: requests, batches, costs."""
