"""Faults that are caused for real, what was promised, and what was found afterwards.

A test is tied to the list of failures (`tests.faults.failures_withstood`) by
`pytest.mark.fault`; see `plugin`. `python -m tests.faults` causes many more of them and writes a
report.
"""
