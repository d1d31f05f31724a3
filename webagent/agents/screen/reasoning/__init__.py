"""Rules that turn a goal in plain words, and what stands on a screen, into commands."""
