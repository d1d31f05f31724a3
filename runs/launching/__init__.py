"""Starting runs: reruns, experiments, retry policies, and carrying runs out."""
