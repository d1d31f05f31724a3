"""Measures that all parts share: intervals of shares, and what two sequences have in common."""
