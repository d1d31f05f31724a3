"""Files and folders as they come: found, opened, read within bounds, and put together to runs."""
