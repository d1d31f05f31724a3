"""Web knowledge: extraction from runs, summaries, and the sets that agents are given."""
