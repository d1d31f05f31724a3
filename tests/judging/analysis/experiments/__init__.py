"""What an experiment says of its agents."""
