"""Carrying out a run, and what becomes of it when its worker dies."""
