"""Tasks and the versioned sets they come in."""
