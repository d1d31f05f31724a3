"""Verdicts on their way in and out with the runs they belong to.

Evaluations become evaluations. Labels and adjudications go to a study made for them, closed
and marked as imported: nothing that a file says ever enters a study that people work on here.
"""
