"""Figures about judgements, with their formulas and sources: pure, usable from a notebook."""
