"""Looking at runs: the runs table, the run page, its timeline, two runs side by side."""
