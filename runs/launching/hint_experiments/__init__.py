"""Experiments that compare hint conditions."""
