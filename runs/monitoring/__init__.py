"""What whoever runs the site is told of it: is it ready, and how much of everything there is."""
