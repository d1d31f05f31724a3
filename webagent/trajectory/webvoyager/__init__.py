"""WebVoyager's task folders."""
