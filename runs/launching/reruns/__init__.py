"""Running again: the form, the live page, cancel and retry."""
