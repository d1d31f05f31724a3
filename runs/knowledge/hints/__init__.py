"""Hints: written from successful runs, looked up for each task."""
