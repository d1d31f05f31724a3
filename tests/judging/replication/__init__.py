"""Replications of published studies."""
