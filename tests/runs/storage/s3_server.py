"""A server that speaks the protocol of S3, on this machine, for tests.

Its modules take a second to load, and are loaded when the first test asks for it.
"""

import itertools
import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from django.core.files.storage import storages

from runs.storage.file_storage import BlobStorage, blob_storage
from runs.storage.s3 import S3BlobStorage
from tests.runs.storage.stores import STATIC, use_store

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "for-tests-only"}
_numbers = itertools.count(1)


@cache
def server_address() -> str:
    """Of the one server of this process, which ends with it."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"


def use_bucket(settings: Any, **changes: Any) -> S3BlobStorage:
    """Have the test store blobs in a new bucket.

    It asks once, so that tests of what goes wrong are quick.
    """
    bucket = f"bucket-{next(_numbers)}"
    options = {
        "bucket": bucket,
        "prefix": "lab/blobs",
        "endpoint_url": server_address(),
        "timeout_s": 60,
        "max_tries": 1,
    }
    default = {"BACKEND": "runs.storage.s3.S3BlobStorage", "OPTIONS": options | changes}
    settings.STORAGES = {"default": default, **STATIC}
    # Made now: threads that ask for it first at the same moment would get one each.
    store = cast(S3BlobStorage, storages["default"])
    if not changes:
        store.client.create_bucket(Bucket=bucket)
    return store


@pytest.fixture(autouse=True, scope="module")
def credentials() -> Iterator[None]:
    """Where the client looks for them, as in earnest."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(params=["files", "bucket"])
def any_store(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> BlobStorage:
    """A store of either kind, in use."""
    if request.param == "bucket":
        return use_bucket(settings)
    use_store(settings, tmp_path / "blobs")
    return blob_storage()
