"""What is written while the site works: lines with their context, and without secrets."""
