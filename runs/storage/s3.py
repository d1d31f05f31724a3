"""Blobs in a bucket of an S3-compatible service.

Loaded only where the settings ask for it: the client takes time and memory. One client serves
all threads of a process. It alone tries again, so many times and so long as the settings say;
nothing above it does, but for the queue of imports and runs.
"""

from __future__ import annotations

import errno
import io
import posixpath
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cache
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import File
from django.utils.functional import cached_property

from runs.storage.file_storage import BlobStorage, StoredFile, StoreUnavailableError, Unsynced

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONNECT_TIMEOUT_S = 3
IN_MEMORY = 8 << 20
"""Bytes of an opened file beyond which it is kept in a temporary file."""
CHUNK = 1 << 20
CONNECTIONS = 32
_MAKING = Lock()
"""Held while a client is made: clients may be shared by threads, their making not."""
PAGE = 1000
"""Objects in an answer of the list; the service gives no more."""
THERE_OR_IN_THE_MAKING = (409, 412)
NOT_IMPLEMENTED = 501
FULL = 507


class S3BlobStorage(BlobStorage):
    """A bucket, or what lies under a prefix in it.

    An object is written whole or not at all, and only where none of its name is: what is there
    already is written once more, which renews its time and mends it. Credentials come from the
    environment, as the service's own client reads them.
    """

    def __init__(
        self,
        *,
        bucket: str,
        prefix: str = "",
        region: str = "us-east-1",
        endpoint_url: str | None = None,
        public_url: str | None = None,
        timeout_s: float = 10,
        max_tries: int = 3,
    ) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._region = region
        self._endpoint_url = endpoint_url
        self._public_url = public_url or endpoint_url
        self._timeout_s = timeout_s
        self._max_tries = max_tries

    @cached_property
    def client(self) -> S3Client:
        """What speaks to the service; safe to use from several threads."""
        return self._make_client(self._endpoint_url)

    @cached_property
    def _public_client(self) -> S3Client:
        """Signs addresses as browsers see the service."""
        return self._make_client(self._public_url)

    def put(self, name: str, content: bytes, unsynced: Unsynced | None = None) -> bool:
        """Store it; True where one was there, which a clean-up may have looked at already."""
        key = self._key(name)
        with _answers():
            try:
                self.client.put_object(Bucket=self.bucket, Key=key, Body=content, IfNoneMatch="*")
                return False
            except ClientError as error:
                status = _status(error)
                if status not in (*THERE_OR_IN_THE_MAKING, NOT_IMPLEMENTED):
                    raise
            self.client.put_object(Bucket=self.bucket, Key=key, Body=content)
        return True

    def put_file(self, name: str, file: IO[bytes]) -> None:
        """Store a large file, in parts."""
        # In this thread alone: a broken part is tried again by the client, and only there.
        config = TransferConfig(use_threads=False)
        with _answers():
            self.client.upload_fileobj(file, self.bucket, self._key(name), Config=config)

    def fetch(self, name: str, target: IO[bytes]) -> None:
        """Copy a file's bytes to an open one."""
        with _answers():
            answer = self.client.get_object(Bucket=self.bucket, Key=self._key(name))
            with closing(answer["Body"]) as body:
                for chunk in body.iter_chunks(CHUNK):
                    target.write(chunk)

    def delete_if_older(self, name: str, before: datetime) -> bool:
        """Delete it by the service's clock of its last writing.

        Between the look and the deletion a writer may renew it; `put` tells the writer so.
        """
        try:
            if self.get_modified_time(name) >= before:
                return False
        except FileNotFoundError:
            return False
        self.delete(name)
        return True

    def walk(self, folder: str = "") -> Iterator[StoredFile]:
        """Every object under the prefix, a thousand an answer."""
        pages = self.client.get_paginator("list_objects_v2")
        with _answers():
            for page in pages.paginate(
                Bucket=self.bucket,
                Prefix=f"{self.prefix}{folder}",
                PaginationConfig={"PageSize": PAGE},
            ):
                for found in page.get("Contents", ()):
                    name = found["Key"].removeprefix(self.prefix)
                    yield StoredFile(name, found["Size"], found["LastModified"])

    def address(self, name: str, *, seconds: int, headers: dict[str, str]) -> str:
        """An address that holds for so long, and answers with these headers and no others."""
        given = {f"Response{header.replace('-', '')}": value for header, value in headers.items()}
        params: dict[str, Any] = {"Bucket": self.bucket, "Key": self._key(name), **given}
        with _answers():
            return self._public_client.generate_presigned_url(
                "get_object", Params=params, ExpiresIn=seconds
            )

    def beside(self, folder: str) -> S3BlobStorage:
        """A store of its own in the same bucket, in a folder beside this one's."""
        other = S3BlobStorage(
            bucket=self.bucket,
            prefix=posixpath.join(posixpath.dirname(self.prefix.rstrip("/")), folder),
        )
        other.client = self.client
        return other

    def exists(self, name: str) -> bool:
        try:
            self._head(name)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        size: int = self._head(name)["ContentLength"]
        return size

    def get_modified_time(self, name: str) -> datetime:
        modified: datetime = self._head(name)["LastModified"]
        return modified

    def delete(self, name: str) -> None:
        with _answers():
            self.client.delete_object(Bucket=self.bucket, Key=self._key(name))

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        folder = f"{path.rstrip('/')}/" if path else ""
        names = [file.name.removeprefix(folder) for file in self.walk(folder)]
        folders = sorted({name.partition("/")[0] for name in names if "/" in name})
        return folders, [name for name in names if "/" not in name]

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        """The whole file, fetched now: an answer that breaks off breaks off here."""
        file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 (File closes it)
        try:
            self.fetch(name, file)
        except BaseException:
            file.close()
            raise
        size = file.tell()
        file.seek(0)
        opened: File[bytes] = File(file, name)
        opened.size = size
        return opened

    def _save(self, name: str, content: File[bytes]) -> str:
        with io.BytesIO() as whole:
            shutil.copyfileobj(content, whole)
            self.put(name, whole.getvalue())
        return name

    def _head(self, name: str) -> dict[str, Any]:
        with _answers():
            return dict(self.client.head_object(Bucket=self.bucket, Key=self._key(name)))

    def _key(self, name: str) -> str:
        if name != posixpath.normpath(name) or name.startswith(("/", "..")):
            raise SuspiciousFileOperation(f"{name} is no path within the store")
        return f"{self.prefix}{name}"

    def _make_client(self, endpoint_url: str | None) -> S3Client:
        config = Config(
            signature_version="s3v4",
            connect_timeout=min(CONNECT_TIMEOUT_S, self._timeout_s),
            read_timeout=self._timeout_s,
            retries={"mode": "standard", "total_max_attempts": self._max_tries},
            max_pool_connections=CONNECTIONS,
            s3={"addressing_style": "path" if endpoint_url else "virtual"},
            # Names are hashes of the content; not every service knows the newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        with _MAKING:
            return _session().client(
                "s3", region_name=self._region, endpoint_url=endpoint_url, config=config
            )


@cache
def _session() -> boto3.session.Session:
    """What clients are made by; it reads large descriptions of the service once."""
    return boto3.session.Session()


@contextmanager
def _answers() -> Iterator[None]:
    """Says what went wrong in the words of `BlobStorage`."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if _status(error) == 404 and code != "NoSuchBucket":
            raise FileNotFoundError(errno.ENOENT, "not in the bucket") from error
        if _status(error) == FULL:
            raise OSError(errno.ENOSPC, "the bucket's service has no room left") from error
        raise StoreUnavailableError(f"the file storage refuses: {error}") from error
    except (BotoCoreError, ConnectionError, TimeoutError) as error:
        raise StoreUnavailableError(f"the file storage does not answer: {error}") from error


def _status(error: ClientError) -> int:
    status: int = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status
