"""Annotators of a study against each other, and evaluators and detectors against them."""
