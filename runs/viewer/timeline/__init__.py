"""The timeline of a run: steps, marks, model calls and screens."""
