"""Where files lie, from what the environment says."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from webagent.settings.environment import Environment

STATIC = {"BACKEND": "runs.storage.static_files.HashedStaticFiles"}


def storages(env: Environment, data_dir: Path) -> dict[str, dict[str, Any]]:
    """Blobs in a bucket if one is named, else in the data directory."""
    if env.BLOB_STORAGE is None:
        blobs = {
            "BACKEND": "runs.storage.file_storage.BlobFileStorage",
            "OPTIONS": {"location": str(data_dir / "blobs")},
        }
        return {"default": blobs, "staticfiles": STATIC}
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
    return {"default": {"BACKEND": "runs.storage.s3.S3BlobStorage", "OPTIONS": options}} | {
        "staticfiles": STATIC
    }


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
