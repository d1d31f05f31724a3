"""Runs written out, as native bundles, ATIF or JSON."""
