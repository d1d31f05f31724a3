"""Thumbnails that follow after an import."""

import io
import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from PIL import Image

from runs.imports.storing import import_runs
from runs.imports.thumbnailing import make_thumbnails, thumbnails_wait
from runs.models import Blob, Run, RunSpace, Step
from runs.storage.blobs import BlobBatch, storage_name
from runs.storage.usage import measure_runs
from tests.webagent.trajectory.samples import run_bundle

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]


def pictures() -> dict[str, str | None]:
    """Thumbnail of every screenshot, by hash."""
    shots = Step.objects.exclude(screenshot=None)
    return dict(shots.values_list("screenshot", "screenshot__thumbnail"))


def test_an_imported_run_waits_for_them() -> None:
    list(import_runs([run_bundle(1)], thumbnails_follow=True))
    assert set(pictures().values()) == {None}
    assert make_thumbnails() >= len(pictures())
    assert None not in pictures().values()
    assert not thumbnails_wait()


def test_what_was_measured_without_them_is_measured_again() -> None:
    list(import_runs([run_bundle(1)], thumbnails_follow=True))
    measure_runs(Run.objects.all())
    early = RunSpace.objects.get()
    make_thumbnails()
    assert measure_runs(Run.objects.all()) == 1
    late = RunSpace.objects.get()
    assert (early.thumbnails, late.n_files > early.n_files) == (0, True)
    assert late.total == early.total + late.thumbnails > early.total
    assert measure_runs(Run.objects.all()) == 0


def test_making_them_late_or_at_once_gives_the_same() -> None:
    content = picture(640, 480)
    at_once, late = BlobBatch(), BlobBatch(thumbnails_follow=True)
    small = at_once.add(content, "image/png").thumbnail
    late.add(content, "image/png")
    late.save()
    assert make_thumbnails() == 1
    assert small is not None
    assert Blob.objects.get(thumbnail__isnull=False).thumbnail_id == small.pk


def test_all_are_made_however_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.imports.thumbnailing.AT_A_TIME", 3)
    add_late(*(picture(20 + number, 20) for number in range(8)))
    assert make_thumbnails() == 8
    assert Blob.objects.exclude(thumbnail=None).count() == 8


def test_a_picture_that_cannot_be_decoded_waits_no_longer() -> None:
    whole = picture(400, 300)
    broken = with_wrong_pixels(whole)
    add_late(whole, broken)
    assert make_thumbnails() == 2
    assert sorted(blob.thumbnail is None for blob in Blob.objects.filter(size=len(whole))) == [
        False,
        True,
    ]
    assert not thumbnails_wait()


def test_a_picture_whose_file_is_gone_holds_nothing_up(store: Path) -> None:
    add_late(picture(30, 30), picture(40, 40))
    gone = Blob.objects.first()
    assert gone is not None
    (store / storage_name(gone)).unlink()
    assert make_thumbnails() == 2
    assert Blob.objects.exclude(thumbnail=None).count() == 1


def test_a_database_that_fails_keeps_them_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    add_late(picture(30, 30))

    def fail(*_: Any, **__: Any) -> None:
        raise DatabaseError("gone")

    with monkeypatch.context() as broken:
        broken.setattr(BlobBatch, "save", fail)
        assert make_thumbnails() == 0
    assert thumbnails_wait()
    assert make_thumbnails() == 1


def test_no_time_no_thumbnails() -> None:
    add_late(picture(30, 30))
    assert make_thumbnails(limit_s=0) == 0
    assert thumbnails_wait()


def add_late(*contents: bytes) -> None:
    batch = BlobBatch(thumbnails_follow=True)
    for content in contents:
        batch.add(content, "image/png")
    batch.save()


def picture(width: int, height: int) -> bytes:
    out = io.BytesIO()
    noise = random.Random(width).randbytes(width * height * 3)
    Image.frombytes("RGB", (width, height), noise).save(out, "PNG")
    return out.getvalue()


def with_wrong_pixels(png: bytes) -> bytes:
    """The same with check sums that hold over compressed data that does not."""
    at = png.index(b"IDAT")
    length = int.from_bytes(png[at - 4 : at], "big")
    data = b"IDAT" + bytes(length)
    return png[:at] + data + zlib.crc32(data).to_bytes(4, "big") + png[at + 8 + length :]
