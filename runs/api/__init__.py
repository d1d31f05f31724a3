"""The API: what its endpoints stand on, and those over runs. Judging adds its own and mounts it."""
