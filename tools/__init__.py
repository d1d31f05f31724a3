"""Programs for those who work on Crosscheck itself; what runs in production needs none."""
