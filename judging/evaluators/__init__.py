"""Automatic judges, by name: from a stored run to what goes into an evaluation.

A new kind of evaluator is a module here and a line in `registry.py`.
"""
