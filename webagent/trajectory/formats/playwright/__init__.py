"""Playwright's `trace.zip`: calls, frames and snapshots, versions 3 to 10."""
