"""Logs of Inspect AI: `.eval` archives (deflate and Zstandard) and `.json` documents."""
