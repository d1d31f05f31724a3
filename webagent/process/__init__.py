"""What each process of the site has: children, threads, counters and log lines."""
