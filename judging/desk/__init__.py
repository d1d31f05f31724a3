"""The desk: the home page, and the command palette that every page opens."""
