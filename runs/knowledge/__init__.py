"""What past runs teach: web knowledge and hints."""
