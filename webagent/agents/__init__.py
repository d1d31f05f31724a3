"""Agents: whatever chooses the next action."""
