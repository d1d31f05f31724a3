"""The native interchange format: JSON Lines and hash-named blobs, as a zip or a folder."""
