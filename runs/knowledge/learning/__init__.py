"""Learning jobs: background work that asks a model to write knowledge or hints."""
