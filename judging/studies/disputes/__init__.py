"""Disagreements: discussion and decision."""
