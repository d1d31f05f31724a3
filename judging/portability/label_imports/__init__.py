"""Labels, verdicts and adjudications made elsewhere, imported from a table."""
