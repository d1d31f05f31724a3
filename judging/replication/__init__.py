"""A published study as one file: what it takes, the runs, and its tables beside our own figures."""
