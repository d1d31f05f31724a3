"""The formats of trajectories, each with its reader."""
