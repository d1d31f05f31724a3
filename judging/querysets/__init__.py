"""Reads, as verbs: every query of judgements has its name here."""
