"""How far runs got: progress rates of experiments, and of a judge against people."""
