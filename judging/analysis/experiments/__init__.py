"""What an experiment says of its agents: figures, pairs of runs, controls. No writes."""
