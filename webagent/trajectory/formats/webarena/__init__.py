"""WebArena's own result folders: render files, logs and what lies beside them."""
