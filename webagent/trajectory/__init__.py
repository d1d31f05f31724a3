"""Trajectories as plain data: the neutral records, and the readers and writers around them."""
