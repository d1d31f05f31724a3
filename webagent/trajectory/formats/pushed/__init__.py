"""Runs that a foreign agent sends while they happen, as records."""
