"""For those who operate the site: health, retention, disk use, integrity, backups."""
