"""Backups of all rows and files, and the way back.

A folder of backups holds `blobs/`, which grows by what is new, and `snapshots/`, one folder each
with the rows of one moment and a manifest of what they are.
"""
