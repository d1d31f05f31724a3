"""Who acts, in which request or task, and what is counted as it happens."""
