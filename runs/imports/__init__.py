"""Runs from files that people send: preview, import, reimport."""
