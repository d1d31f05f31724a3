"""Reads, as verbs: every query of the app has its name here."""
