"""Reference verdicts: how labels settle, and how old they are."""
