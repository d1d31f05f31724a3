"""Writes: keyword-only, one transaction each."""
