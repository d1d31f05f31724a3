"""How fast it is, as ratios to the bare work on the same data in the same run."""
