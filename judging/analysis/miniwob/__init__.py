"""MiniWoB++ as a suite: success by both rules, by steps, and why runs fail."""
