"""How much disk the stored runs take."""
