"""Experiments: plan, estimate, budget, launch and progress."""
