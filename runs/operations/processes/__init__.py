"""The processes of a site: web server, workers, and the supervisor that forks them."""
