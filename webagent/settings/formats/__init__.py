"""How dates read, where Django's own way would leave room for doubt."""
