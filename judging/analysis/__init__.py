"""Figures: evaluators against people, agents against each other."""
