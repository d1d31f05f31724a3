"""The blob store: content in, hash out, and back.

Files are written first and rows second, so a process that is killed or a disk that is full
leaves at most a file that no row names (`manage.py check_blobs` finds it), never a row
without its file.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import zstandard
from django.conf import settings
from django.core.files.base import ContentFile, File
from django.db import IntegrityError
from PIL import Image

from runs.models import Blob
from runs.storage.file_storage import StoreUnavailableError, Unsynced, blob_storage
from webagent.process.counters import storage_errors
from webagent.trajectory.blobs import FORMATS, ImageError, ImageFacts, look_at_image
from webagent.trajectory.intake import Bounds


@contextmanager
def storage_errors_counted(verb: str) -> Iterator[None]:
    """Counts what the store raises in the block, as failing to `verb`."""
    try:
        yield
    except (OSError, StoreUnavailableError):
        storage_errors.labels(verb).inc()
        raise


THUMBNAIL_WIDTH = 320
MAX_WEBP_SIDE = 16_383
QUALITY = 80


def make_thumbnail(content: bytes) -> tuple[bytes, tuple[int, int]]:
    """A WebP of the first frame, 320 pixels wide, and its size; a smaller picture keeps its size.

    The caller has checked the picture's size in pixels (`look_at_image`).

    Raises:
        ImageError: the picture cannot be decoded to its end.
    """
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            image.draft("RGB", (THUMBNAIL_WIDTH, THUMBNAIL_WIDTH))
            small = image if image.mode in ("RGB", "RGBA") else image.convert("RGBA")
            small.thumbnail((THUMBNAIL_WIDTH, MAX_WEBP_SIDE), reducing_gap=2.0)
            out = io.BytesIO()
            small.save(out, "WEBP", quality=QUALITY, method=2)
    except Exception as error:  # Pillow raises what damaged bytes lead it to
        raise ImageError(f"cannot be decoded: {error or type(error).__name__}") from error
    return out.getvalue(), small.size


UNKNOWN_TYPE = "application/octet-stream"
TEXT_TYPES = {"application/json", "application/x-ndjson", "application/xml", "application/har+json"}
ZSTD_LEVEL = 6
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,80}")


class MissingBlobError(LookupError):
    """A row or a file of the store is not there, or no longer what it was."""


class CleanedUpError(IntegrityError):
    """A clean-up took a file away while it was written once more. Write it again."""


def read_blob(blob: str | Blob) -> bytes:
    """The bytes of a blob, given its hash or its row. They are not hashed again.

    Raises:
        MissingBlobError: there is no such blob, or its file is gone or damaged.
        StoreUnavailableError: the store does not answer.
    """
    row = _row(blob)
    try:
        with storage_errors_counted("read"), blob_storage().open(storage_name(row)) as file:
            content: bytes = file.read()
        if row.compressed:
            content = zstandard.ZstdDecompressor().decompress(content, max_output_size=row.size)
    except (OSError, zstandard.ZstdError) as error:
        raise MissingBlobError(f"the file of blob {row.pk} is gone or damaged") from error
    return content


def open_blob(blob: str | Blob) -> File[bytes]:
    """The stored file of a blob that is not compressed (pictures, videos), for streaming.

    Raises:
        MissingBlobError: as `read_blob`.
    """
    row = _row(blob)
    if row.compressed:
        return ContentFile(read_blob(row))
    try:
        with storage_errors_counted("read"):
            return blob_storage().open(storage_name(row))
    except OSError as error:
        raise MissingBlobError(f"the file of blob {row.pk} is gone") from error


def is_text(media_type: str) -> bool:
    """Whether it is stored compressed, and shown as plain text."""
    return media_type.startswith("text/") or media_type in TEXT_TYPES


def storage_name(blob: Blob) -> str:
    """Where the store keeps it: `ab/cd/abcd…`, ending in `.zst` where compressed."""
    sha256 = blob.pk
    ending = ".zst" if blob.compressed else ""
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}{ending}"


def known_hashes(hashes: Iterable[str]) -> set[str]:
    """Those of the hashes that have a row already."""
    return set(Blob.objects.filter(pk__among=set(hashes)).values_list("pk", flat=True))


class BlobBatch:
    """Blobs on their way in: `add` writes their files, `save` inserts all rows at once.

    Add before a transaction begins (files take time, a transaction holds locks), save inside.

    Args:
        thumbnails_follow: they are made in the background (`runs.imports.thumbnailing`), since
            they take ten times as long as all the rest.
    """

    def __init__(self, *, thumbnails_follow: bool = False) -> None:
        self._thumbnails_follow = thumbnails_follow
        self._bounds = Bounds(image_pixels=settings.ENV.IMPORT_MAX_PIXELS)
        self.rows: dict[str, Blob] = {}
        """By hash; not saved."""
        self.renewed: list[Blob] = []
        """Those whose files a clean-up may be deleting."""
        self._unsynced: Unsynced = {}
        self.undecodable: dict[str, str] = {}
        """Hash -> reason, for pictures of which no thumbnail could be made."""

    def add(
        self, content: bytes, media_type: str, sha256: str = "", facts: ImageFacts | None = None
    ) -> Blob:
        """Write the file, and a thumbnail's if it is a picture; the row, not saved yet.

        May be called from several threads; it does not touch the database.

        A picture's media type is read from its bytes: what claims to be one and is not (or is
        larger than the bounds) is kept as mere bytes.

        Args:
            sha256: the content's hash, where whoever read it has just worked it out.
            facts: what the picture is, likewise.
        """
        sha256 = sha256 or hashlib.sha256(content).hexdigest()
        if sha256 in self.rows:
            return self.rows[sha256]
        media_type = media_type.split(";")[0].strip().lower()
        if not _MEDIA_TYPE.fullmatch(media_type):
            media_type = UNKNOWN_TYPE
        blob = Blob(sha256=sha256, media_type=media_type, size=len(content))
        if media_type.startswith("image/"):
            self._look(blob, content, facts)
        elif is_text(media_type):
            packed = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(content)
            if len(packed) < len(content):
                blob.compressed, content = True, packed
        return self._keep(blob, content)

    def sync(self) -> None:
        """Make sure that the files outlive a crash of the machine, all of them at once.

        `save` does it if nobody did; it takes time, so a transaction is better begun after it.
        """
        sync_together([self])

    def take_unsynced(self) -> Unsynced:
        """What is not sure to be on disk; the caller sees to it."""
        unsynced, self._unsynced = self._unsynced, {}
        return unsynced

    def save(self) -> None:
        """Insert the rows that are not there yet. In order, so that two batches cannot deadlock.

        Raises:
            CleanedUpError: a file is gone again; nothing of the transaction may stay.
        """
        save_together([self])

    def _look(self, blob: Blob, content: bytes, facts: ImageFacts | None) -> None:
        try:
            if not facts or facts.width * facts.height > self._bounds.image_pixels:
                facts = look_at_image(content, self._bounds)
        except ImageError as error:
            blob.media_type = UNKNOWN_TYPE
            self.undecodable[blob.pk] = str(error)
            return
        blob.media_type, blob.width, blob.height = facts.media_type, facts.width, facts.height
        if self._thumbnails_follow:
            # Readers decode every picture before they count it.
            blob.awaits_thumbnail = True
            return
        try:
            self.add_thumbnail(blob, content)
        except ImageError as error:
            self.undecodable[blob.pk] = str(error)

    def add_thumbnail(self, blob: Blob, content: bytes) -> None:
        """Write the file of the picture's thumbnail and refer to it; the blob is not saved.

        May be called from several threads, like `add`.

        Raises:
            ImageError: the picture cannot be decoded to its end.
        """
        small, (width, height) = make_thumbnail(content)
        thumbnail = Blob(
            sha256=hashlib.sha256(small).hexdigest(),
            media_type="image/webp",
            size=len(small),
            width=width,
            height=height,
        )
        blob.thumbnail = self._keep(thumbnail, small)

    def _keep(self, blob: Blob, stored: bytes) -> Blob:
        if blob.pk in self.rows:
            return self.rows[blob.pk]
        blob.stored_size = len(stored)
        with storage_errors_counted("write"):
            may_vanish = blob_storage().put(storage_name(blob), stored, self._unsynced)
        if may_vanish:
            self.renewed.append(blob)
        self.rows[blob.pk] = blob
        return blob


def sync_together(batches: Iterable[BlobBatch]) -> None:
    """`sync` all of them, which takes little longer than one."""
    unsynced: Unsynced = {}
    for batch in batches:
        for path, is_new in batch.take_unsynced().items():
            unsynced[path] = is_new or unsynced.get(path, False)
    if unsynced:
        with storage_errors_counted("write"):
            blob_storage().sync(unsynced)


def save_together(batches: Sequence[BlobBatch]) -> None:
    """`save` all of them, with one question to the database. Raises CleanedUpError."""
    sync_together(batches)
    rows = {sha256: row for batch in batches for sha256, row in batch.rows.items()}
    Blob.objects.bulk_create((rows[sha256] for sha256 in sorted(rows)), ignore_conflicts=True)
    # From here on their rows protect them.
    for blob in chain.from_iterable(batch.renewed for batch in batches):
        if not blob_storage().exists(storage_name(blob)):
            raise CleanedUpError(f"blob {blob.pk} was deleted meanwhile")


def _row(blob: str | Blob) -> Blob:
    if isinstance(blob, Blob):
        return blob
    row = Blob.objects.filter(pk=blob).first()
    if row is None:
        raise MissingBlobError(f"there is no blob {blob}")
    return row
