"""What hints change: each condition of an experiment against the same agent without hints."""
