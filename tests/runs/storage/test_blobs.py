"""Blobs: content in, hash out, and back; whole or not at all."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from PIL import Image

from runs.models import Blob
from runs.storage import file_storage
from runs.storage.blobs import (
    BlobBatch,
    MissingBlobError,
    known_hashes,
    open_blob,
    read_blob,
    storage_name,
)
from runs.storage.file_storage import UNFINISHED
from tests.runs.storage.stores import files_in, store_blob
from webagent.settings.environment import REPOSITORY
from webagent.trajectory.blobs import ImageFacts

pytestmark = pytest.mark.django_db


def picture(
    width: int = 640, height: int = 400, kind: str = "PNG", mode: str = "RGB", **options: Any
) -> bytes:
    out = io.BytesIO()
    image = Image.radial_gradient("L").resize((width, height)).convert(mode)
    image.save(out, kind, **options)
    return out.getvalue()


def test_bytes_come_back_under_their_hash(store):
    content = os.urandom(5000)
    blob: Any = store_blob(content, "application/octet-stream")
    assert blob.pk == hashlib.sha256(content).hexdigest()
    assert (blob.size, blob.compressed, blob.thumbnail) == (5000, False, None)
    assert read_blob(blob.pk) == read_blob(blob) == content
    with open_blob(blob) as file:
        assert file.read() == content


def test_text_is_compressed_and_comes_back(store):
    content = b"RootWebArea 'page'\n" * 1000
    blob: Any = store_blob(content, "text/plain; charset=utf-8")
    (file,) = files_in(store)
    assert blob.compressed
    assert blob.media_type == "text/plain"
    assert blob.size == len(content) > 50 * file.stat().st_size
    assert read_blob(blob) == open_blob(blob).read() == content


def test_the_same_content_is_stored_once(store):
    first = store_blob(b"x" * 100, "text/plain")
    again = store_blob(b"x" * 100, "application/json")
    assert first == again
    assert again.media_type == "text/plain"
    assert len(files_in(store)) == Blob.objects.count() == 1


def test_files_lie_in_folders_by_hash(store):
    blob: Any = store_blob(b"abc", "application/octet-stream")
    assert storage_name(blob) == f"{blob.pk[:2]}/{blob.pk[2:4]}/{blob.pk}"
    assert (store / storage_name(blob)).read_bytes() == b"abc"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_pictures_get_size_and_thumbnail(store, kind):
    content = picture(640, 400, kind)
    blob: Any = store_blob(content, "image/png")
    assert (blob.media_type, blob.width, blob.height) == (f"image/{kind.lower()}", 640, 400)
    thumbnail: Any = blob.thumbnail
    assert (thumbnail.media_type, thumbnail.width, thumbnail.height) == ("image/webp", 320, 200)
    with Image.open(io.BytesIO(read_blob(thumbnail))) as small:
        assert (small.format, small.size) == ("WEBP", (320, 200))
    assert read_blob(blob) == content


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "I;16"])
def test_every_kind_of_pixel_gets_a_thumbnail(store, mode):
    image = Image.new(mode, (640, 10))
    out = io.BytesIO()
    image.save(out, "PNG")
    blob: Any = store_blob(out.getvalue(), "image/png")
    assert blob.thumbnail.width == 320


def test_a_small_picture_keeps_its_size(store):
    thumbnail: Any = store_blob(picture(120, 80), "image/png").thumbnail
    assert (thumbnail.width, thumbnail.height) == (120, 80)


def test_a_very_long_page_gets_a_thumbnail_that_webp_can_hold(store):
    thumbnail: Any = store_blob(picture(20, 60_000), "image/png").thumbnail
    assert thumbnail.height <= 16_383


def test_pictures_that_look_alike_when_small_share_a_thumbnail(store):
    plain, other = (picture(640, 400, compress_level=level) for level in (1, 9))
    first, second = store_blob(plain, "image/png"), store_blob(other, "image/png")
    assert first.pk != second.pk
    assert first.thumbnail == second.thumbnail


@pytest.mark.parametrize(
    "content", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"version https://git-lfs", b""]
)
def test_what_only_claims_to_be_a_picture_is_mere_bytes(store, content):
    batch = BlobBatch()
    blob = batch.add(content, "image/png")
    batch.save()
    assert blob.media_type == "application/octet-stream"
    assert (blob.width, blob.thumbnail) == (None, None)
    assert blob.pk in batch.undecodable
    assert read_blob(blob) == content


def test_a_picture_cut_short_is_kept_without_thumbnail(store):
    batch = BlobBatch()
    blob = batch.add(picture(640, 400)[:-800], "image/png")
    assert (blob.media_type, blob.width, blob.thumbnail) == ("image/png", 640, None)
    assert "cannot be decoded" in batch.undecodable[blob.pk]


def test_a_picture_with_too_many_pixels_is_never_decoded(store, settings):
    settings.ENV = settings.ENV.model_copy(update={"IMPORT_MAX_PIXELS": 1000})
    blob: Any = store_blob(picture(40, 30), "image/png")
    assert (blob.media_type, blob.thumbnail) == ("application/octet-stream", None)


def test_what_a_reader_found_of_a_picture_counts_within_the_bounds(store, settings):
    facts = ImageFacts("image/png", 40, 30)
    content = picture(40, 30)
    assert BlobBatch(thumbnails_follow=True).add(content, "image/png", facts=facts).width == 40
    settings.ENV = settings.ENV.model_copy(update={"IMPORT_MAX_PIXELS": 1000})
    refused = BlobBatch(thumbnails_follow=True)
    blob = refused.add(content, "image/png", facts=facts)
    assert (blob.media_type, list(refused.undecodable)) == ("application/octet-stream", [blob.pk])


def test_a_media_type_from_outside_is_kept_only_if_it_is_one(store):
    assert store_blob(b"1", 'text/html"><script>').media_type == "application/octet-stream"
    assert store_blob(b"2", "Text/HTML").media_type == "text/html"


def test_what_is_not_there_says_so(store):
    with pytest.raises(MissingBlobError):
        read_blob("0" * 64)
    blob: Any = store_blob(b"gone soon", "text/plain")
    (file,) = files_in(store)
    file.unlink()
    for look in (read_blob, open_blob):
        with pytest.raises(MissingBlobError):
            look(blob)


def test_a_damaged_compressed_file_says_so(store):
    blob: Any = store_blob(b"words " * 500, "text/plain")
    (file,) = files_in(store)
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(MissingBlobError, match="damaged"):
        read_blob(blob)


def test_a_batch_writes_files_first_and_rows_later(store):
    batch = BlobBatch()
    blob = batch.add(picture(), "image/png")
    assert len(files_in(store)) == 2
    assert not Blob.objects.exists()
    batch.save()
    assert known_hashes([blob.pk, "0" * 64]) == {blob.pk}


def test_a_batch_takes_what_another_stored_meanwhile(store):
    batch = BlobBatch()
    blob = batch.add(b"both", "application/octet-stream")
    store_blob(b"both", "application/octet-stream")
    batch.save()
    assert Blob.objects.get() == blob


def test_a_file_appears_whole_or_not_at_all(store, monkeypatch):
    def break_down(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", break_down)
    with pytest.raises(OSError, match="No space"):
        store_blob(b"x" * 10_000, "application/octet-stream")
    assert files_in(store) == []
    assert not Blob.objects.exists()


def test_files_and_their_names_are_on_disk_before_a_row_names_them(store, monkeypatch):
    synced, synced_before_rows = set(), []
    fsync = os.fsync

    def sync(descriptor):
        fsync(descriptor)
        synced.add(Path(f"/proc/self/fd/{descriptor}").readlink())

    def note(execute, sql, *rest):
        if sql.startswith("INSERT"):
            synced_before_rows.append(set(synced))
        return execute(sql, *rest)

    monkeypatch.setattr(os, "fsync", sync)
    batch = BlobBatch()
    for number in range(3):
        batch.add(bytes([number]) * 100, "application/octet-stream")
    with connection.execute_wrapper(note):
        batch.save()
    (there,) = synced_before_rows
    for file in files_in(store):
        assert any(path.name.startswith(file.name) for path in there)
        assert {file.parent, file.parents[1], file.parents[2]} <= there


def test_a_file_that_is_there_is_kept_and_renewed(store):
    name = default_storage.save("ab/cd/abcd", ContentFile(b"content"))
    os.utime(store / name, (1, 1))
    inode = (store / name).stat().st_ino
    assert default_storage.save("ab/cd/abcd", ContentFile(b"content")) == name
    assert (store / name).stat().st_ino == inode
    assert (store / name).stat().st_mtime > time.time() - 60


def test_a_damaged_file_of_another_size_is_replaced(store):
    name = default_storage.save("ab/cd/abcd", ContentFile(b"content"))
    (store / name).write_bytes(b"con")
    default_storage.save("ab/cd/abcd", ContentFile(b"content"))
    assert (store / name).read_bytes() == b"content"


def test_a_name_cannot_leave_the_store(store):
    with pytest.raises(Exception, match="path"):
        default_storage.save("../outside", ContentFile(b"x"))


WRITER = """
    import hashlib, os, sys
    import django
    from django.conf import settings
    settings.configure()
    from django.core.files.base import ContentFile
    from runs.storage.file_storage import BlobFileStorage
    storage = BlobFileStorage(location=sys.argv[1])
    print("ready", flush=True)
    while True:
        content = os.urandom(3_000_000)
        name = hashlib.sha256(content).hexdigest()
        storage.save(f"{name[:2]}/{name}", ContentFile(content))
"""


@pytest.mark.parametrize("moment", [0.004, 0.011, 0.023, 0.038, 0.057])
@pytest.mark.slow
def test_a_killed_process_leaves_no_half_file(tmp_path, moment):
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY)
    assert writer.stdout is not None
    with writer:
        writer.stdout.readline()
        time.sleep(moment)
        writer.send_signal(signal.SIGKILL)
    for file in files_in(tmp_path):
        if not file.name.endswith(UNFINISHED):
            assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name


def test_many_files_are_synced_together_before_a_row_names_them(store, monkeypatch):
    there_when_synced, rows_when_synced = [], []

    def sync(_descriptor):
        there_when_synced.append(set(files_in(store)))
        rows_when_synced.append(Blob.objects.count())

    monkeypatch.setattr(file_storage, "_syncfs", sync)
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("one by one"))
    batch = BlobBatch()
    for number in range(file_storage.FEW):
        batch.add(bytes([number]) * 100, "application/octet-stream")
    batch.save()
    assert there_when_synced == [set(files_in(store))]
    assert rows_when_synced == [0]
    assert Blob.objects.count() == file_storage.FEW


def test_a_file_that_a_clean_up_looks_at_is_synced_a_moment_later(store, monkeypatch):
    synced, moments = [], []

    def put_back(seconds):
        moments.append(seconds)
        aside.rename(file)

    batch = BlobBatch()
    batch.add(b"content", "application/octet-stream")
    (file,) = files_in(store)
    aside = file.rename(file.with_name(f"aside{UNFINISHED}"))
    monkeypatch.setattr(time, "sleep", put_back)
    monkeypatch.setattr(os, "fsync", lambda at: synced.append(os.readlink(f"/proc/self/fd/{at}")))
    batch.save()
    assert len(moments) == 1
    assert str(file) in synced


@pytest.mark.parametrize("n", [1, file_storage.FEW])
def test_what_cannot_be_synced_is_taken_back_but_for_what_was_there_before(store, monkeypatch, n):
    before = store_blob(b"before", "application/octet-stream")

    def break_down(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(file_storage, "_syncfs", break_down)
    monkeypatch.setattr(os, "fsync", break_down)
    batch = BlobBatch()
    batch.add(b"before", "application/octet-stream")
    for number in range(n):
        batch.add(bytes([number]) * 100, "application/octet-stream")
    with pytest.raises(OSError, match="Input/output"):
        batch.save()
    assert [file.name for file in files_in(store)] == [before.pk]
    assert Blob.objects.get() == before
