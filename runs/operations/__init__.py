"""For those who operate the site: health, retention, storage, integrity, backups."""
