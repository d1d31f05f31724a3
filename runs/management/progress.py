"""Progress bars of commands: on stderr, so that stdout stays clean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db.models import QuerySet
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from runs.accounts.audit_log import record_entry
from runs.exports.services import ExportFormat, export_atif, export_runs
from runs.models import Run
from runs.models.audit_log import RUNS_EXPORTED
from webagent.trajectory.bundles import BlobError, RunBundle
from webagent.trajectory.native.blinding import Blinding


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[Progress]:
    """A bar with count and time left."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not shown,
    ) as progress:
        yield progress


def export_with_progress(
    out: Path,
    runs: QuerySet[Run],
    *,
    blind: bool = False,
    hide_agent: bool = False,
    format: str = ExportFormat.NATIVE,
    **_: Any,
) -> str:
    """Export with a bar; what was written, in words.

    Raises:
        CommandError: it could not be written; says why.
    """
    blinding = Blinding(hide_agent=hide_agent) if blind or hide_agent else None
    try:
        with progress_bar() as progress:
            bar = progress.add_task(out.name, total=runs.count())
            on_run = partial(_advance, progress, bar)
            if format == ExportFormat.ATIF:
                n = export_atif(out, runs, blinding=blinding, on_run=on_run)
                record_entry(RUNS_EXPORTED, words=out.name, after=f"{n} runs, {format}")
                return f"Wrote {n} runs as ATIF documents to {out}."
            manifest = export_runs(out, runs, blinding=blinding, on_run=on_run)
    except FileExistsError:
        raise CommandError(f"{out} is not empty") from None
    except (BlobError, OSError) as error:
        raise CommandError(str(error)) from error
    n_runs = manifest.files["runs.jsonl"].count if "runs.jsonl" in manifest.files else 0
    record_entry(RUNS_EXPORTED, words=out.name, after=f"{n_runs} runs, {format}")
    counts = ", ".join(
        f"{file.count} {name.removesuffix('.jsonl')}" for name, file in manifest.files.items()
    )
    return f"Wrote {counts} and {manifest.blobs.count} files to {out}."


def _advance(progress: Progress, bar: TaskID, _bundle: RunBundle) -> None:
    progress.advance(bar)
