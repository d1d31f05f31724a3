"""Blobs and their thumbnails, in files or in a bucket, and runs as they are stored."""
