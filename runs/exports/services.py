"""Writing runs out, natively or as ATIF, for programs and for people with a limited view."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from django.db.models import QuerySet

from runs.exports.run_bundles import bundles_of
from runs.models import Run, Task, User
from runs.models.runs.queries import RunQuerySet
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.atif.writer import write_atif
from webagent.trajectory.formats.native.blinding import Blinding, without_answers
from webagent.trajectory.formats.native.schema import Manifest
from webagent.trajectory.formats.native.writer import write_folder, write_zip

OnRun = Callable[[], object]


class ExportFormat(StrEnum):
    """What runs can be written as."""

    NATIVE = "native"
    ATIF = "atif"


def export_runs(
    target: Path,
    runs: QuerySet[Run],
    *,
    blinding: Blinding | None = None,
    on_run: OnRun | None = None,
) -> Manifest:
    """Write the runs to a zip, or to a folder if the name does not end in `.zip`.

    The same runs give the same bytes, in whatever order they were stored. The file appears
    under its name only when it is whole.

    Raises:
        FileExistsError: the folder holds something already.
        BlobError: a blob is missing in the store.
    """
    bundles = _counted(bundles_of(runs.order_by("pk")), on_run)
    if target.suffix != ".zip":
        return write_folder(target, bundles, blinding=blinding)
    with replacing(target) as unfinished:
        return write_zip(unfinished, bundles, blinding=blinding)


def export_atif(
    target: Path,
    runs: QuerySet[Run],
    *,
    blinding: Blinding | None = None,
    on_run: OnRun | None = None,
) -> int:
    """The same as ATIF documents with their pictures; how many runs.

    Raises:
        FileExistsError: the folder holds something already.
        BlobError: a blob is missing in the store.
    """
    bundles = _counted(bundles_of(runs.order_by("pk")), on_run)
    if target.suffix != ".zip":
        return write_atif(target, bundles, blinding=blinding)
    with replacing(target) as unfinished, unfinished.open("wb") as file:
        return write_atif(file, bundles, blinding=blinding)


def export_for(
    user: User, target: BinaryIO, runs: RunQuerySet[Run], format: ExportFormat = ExportFormat.NATIVE
) -> None:
    """Write to an open, seekable file those of the runs that the person may see, as they may.

    Runs on which they are blind go out blind, and without names where those are hidden too. Of
    tasks that they still judge in other runs, nothing goes out that tells how to succeed.
    """
    shown = runs.visible_to(user)
    looks = list(shown.only("id"))
    blind = frozenset(run.pk for run in looks if run.is_blind)
    anonymous = frozenset(run.pk for run in looks if run.is_anonymous)
    of_sealed = shown.filter(Task.objects.is_sealed(user, "task")).order_by()
    sealed = frozenset(of_sealed.values_list("pk", flat=True))
    bundles = bundles_of(shown.order_by("pk"))
    shown_as = (_as_shown(bundle, blind, anonymous, sealed) for bundle in bundles)
    if format is ExportFormat.ATIF:
        write_atif(target, shown_as)
    else:
        write_zip(target, shown_as)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path to write to; what stands there in the end takes the target's place at once."""
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield unfinished
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _as_shown(
    bundle: RunBundle, blind: frozenset[UUID], anonymous: frozenset[UUID], sealed: frozenset[UUID]
) -> RunBundle:
    run_id = UUID(bundle.run.id)
    if run_id in blind or run_id in anonymous:
        return Blinding(hide_agent=run_id in anonymous).apply(bundle)
    if run_id in sealed:
        return replace(bundle, task=without_answers(bundle.task), hints=())
    return bundle


def _counted(bundles: Iterator[RunBundle], on_run: OnRun | None) -> Iterator[RunBundle]:
    for bundle in bundles:
        yield bundle
        if on_run:
            on_run()
