"""Evaluators held against the reference verdicts of a study, and annotators against each other."""
