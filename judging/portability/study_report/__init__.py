"""A study as pages that open from disk: no server, no script, no network."""
