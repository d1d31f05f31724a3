"""Labels: the annotation page, its form, and submitting, changing, undoing."""
