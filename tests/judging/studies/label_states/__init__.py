"""Labels, items, assignments and disputes in every state that they can reach together."""
