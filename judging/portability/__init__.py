"""Labels, verdicts and whole studies, in and out."""
