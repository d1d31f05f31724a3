"""Which run an annotator is given next, and the assignment that reserves it."""
