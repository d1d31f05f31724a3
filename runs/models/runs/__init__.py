"""Runs: their table, states, reads, and the queue they wait in."""
