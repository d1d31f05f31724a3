"""Noticing that an agent is stuck, and getting it out."""
