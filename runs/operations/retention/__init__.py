"""Archiving runs, restoring them, and deleting them for good."""
