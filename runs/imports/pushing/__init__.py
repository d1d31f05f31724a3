"""Runs that an agent elsewhere sends step by step."""
