"""The regression gate: whether a candidate has become worse than a baseline, for CI."""
