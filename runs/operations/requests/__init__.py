"""Every request: middleware, and the pages for what went wrong."""
