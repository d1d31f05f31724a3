"""Two evaluators on the runs of one study, or two studies, side by side."""
