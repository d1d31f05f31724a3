"""What a screenshot shows, as text: words read, elements found, both joined."""
