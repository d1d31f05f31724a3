"""The list of failures that are withstood, and what a fault campaign found."""
