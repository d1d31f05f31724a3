"""Where files lie, and what the site keeps in its data directory before it has a database."""

import fcntl
import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from webagent.settings.environment import Environment

STATIC = {"BACKEND": "runs.storage.static_files.HashedStaticFiles"}


def storages(env: Environment, data_dir: Path) -> dict[str, dict[str, Any]]:
    """Blobs in a bucket if one is named, else in the data directory."""
    if env.BLOB_STORAGE is None:
        backend = "runs.storage.file_storage.BlobFileStorage"
        options: dict[str, Any] = {"location": str(data_dir / "blobs")}
    else:
        backend = "runs.storage.s3.S3BlobStorage"
        bucket, prefix = bucket_of(env.BLOB_STORAGE)
        options = {
            "bucket": bucket,
            "prefix": f"{prefix}/blobs".lstrip("/"),
            "region": env.S3_REGION,
            "endpoint_url": env.S3_ENDPOINT_URL,
            "public_url": env.S3_PUBLIC_URL,
            "timeout_s": env.S3_TIMEOUT_S,
            "max_tries": env.S3_MAX_TRIES,
        }
    return {"default": {"BACKEND": backend, "OPTIONS": options}, "staticfiles": STATIC}


def picture_sources(env: Environment) -> list[str]:
    """Hosts beside our own that pictures come from: the bucket's, where browsers are sent there."""
    if env.BLOB_STORAGE is None or env.BLOB_SERVING != "presigned":
        return []
    if url := env.S3_PUBLIC_URL or env.S3_ENDPOINT_URL:
        parts = urlsplit(url)
        return [f"{parts.scheme}://{parts.netloc}"]
    bucket, _prefix = bucket_of(env.BLOB_STORAGE)
    return [
        f"https://{bucket}.s3.{env.S3_REGION}.amazonaws.com",
        f"https://{bucket}.s3.amazonaws.com",
    ]


def bucket_of(address: str) -> tuple[str, str]:
    """Bucket and prefix of `s3://bucket/prefix`."""
    parts = urlsplit(address)
    return parts.netloc, parts.path.strip("/")


MIN_KEY_CHARS = 32


def make_folder(path: Path) -> Path:
    """The folder, made where it is missing.

    Raises:
        SystemExit: with one line, where nothing can be written there.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(f"no permission to write to {str(path)!r}")
    except OSError as error:
        why = f"Crosscheck cannot start, DATA_DIR cannot be used: {error}"
        raise SystemExit(why) from None
    return path


def read_or_make_secret_key(path: Path) -> str:
    """The key kept in this file, readable by its owner only; made where there is none.

    Programs that start together wait for the one that makes it. What a crash left of a key (an
    empty file, say) is none.

    Raises:
        SystemExit: with one line, where the file can be neither read nor written.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            key = file.read().strip()
            if len(key) < MIN_KEY_CHARS:
                key = secrets.token_urlsafe(48)
                file.seek(0)
                file.truncate()
                file.write(key)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise SystemExit(f"Crosscheck cannot start without its secret key: {error}") from None
    return key
