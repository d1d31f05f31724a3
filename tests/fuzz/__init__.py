"""Damaged input, by the thousand: `python -m tests.fuzz IMPORTER --examples N`."""
