"""Where the sites of benchmarks are, and whether they are ready."""
