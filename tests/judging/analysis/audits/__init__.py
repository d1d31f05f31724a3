"""Audits: what they count, what their pages show, and to whom."""
