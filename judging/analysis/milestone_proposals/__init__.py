"""Milestones that a model proposes and a person decides about."""
