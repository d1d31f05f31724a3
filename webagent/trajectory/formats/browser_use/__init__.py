"""Histories that browser-use saves, of every generation."""
