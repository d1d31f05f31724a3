"""Task patches: files that turn one version of a task set into the next, and back."""
