"""People, their log-in and API tokens, and the audit log."""
