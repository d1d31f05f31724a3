"""The Agent Trajectory Interchange Format (ATIF), versions 1.0 to 1.8, in and out."""
