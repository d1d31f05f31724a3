"""Which agents there are, their stored configurations, and how pages name them."""
