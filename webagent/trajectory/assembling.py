"""What readers of every format do alike when they put a run together."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from webagent.field_errors import first_field_error
from webagent.trajectory.bundles import InputError, Rejection, RunBundle
from webagent.trajectory.field_types import is_of_a_calendar
from webagent.trajectory.records import (
    BlobRecord,
    GoalPart,
    SourceRecord,
    StepRecord,
    TaskSetRecord,
    TextPart,
)
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.texts import bounded_name, storable_json, storable_text
from webagent.trajectory.untyped import noting_refused_numbers, text

log = logging.getLogger(__name__)

URL_CHARS = 4_000
_PATH_CHARS = 1_000
_MOST_ISO_CHARS = 40


def unreadable(files: RunFiles, path: str, name: str, field: str, otherwise: str) -> InputError:
    """For a document that a run cannot do without: where its JSON breaks, or which field is wrong.

    Args:
        path: the document as `files` knows it; `name` is what reports call it.
    """
    why = files.why_unread(path)
    return InputError("JSON" if why else field, why or otherwise, file=name)


def model_names(names: Iterable[str | None]) -> tuple[str, ...]:
    """Each name of a model once, as it can be stored."""
    return tuple(dict.fromkeys(bounded_name(name) for name in names if name))


def guarded(source: str, file: str, read: Callable[[], RunBundle]) -> RunBundle | Rejection:
    """The run, or why there is none: one run's odd content must not cost the others."""
    try:
        with noting_refused_numbers():
            return read()
    except InputError as error:
        return error.rejection(source, file)
    except ValidationError as error:
        return Rejection(source, file, *first_field_error(error))
    except Exception as error:
        log.exception("run %s could not be read", source)
        return Rejection(source, file, "", f"unexpected: {type(error).__name__}")


def source_record(
    files: RunFiles,
    format: str,
    path: str,
    *,
    format_version: str | None = None,
    tool: str | None = None,
    tool_version: str | None = None,
    originals: Iterable[BlobRecord | None] = (),
) -> SourceRecord:
    """Where the run came from, and what was dropped and redacted. Call it last."""
    return SourceRecord(
        format=format,
        format_version=storable_text(format_version, 100) if format_version else None,
        tool=tool,
        tool_version=storable_text(tool_version, 100) if tool_version else None,
        path=storable_text(path, _PATH_CHARS) or None,
        imported_files=tuple(dict.fromkeys(files.imported)),
        importer=f"crosscheck-{format}",
        importer_version="1",
        dropped=tuple(files.dropped),
        redacted={kind: n for kind, n in sorted(files.redactor.counts.items()) if n},
        originals=tuple(blob for blob in (*originals, *files.spoilt) if blob is not None),
    )


def clean(files: RunFiles, words: object, limit: int | None = None) -> str | None:
    """Text without secrets, as it may stand in a record; None if it is none or empty."""
    if not isinstance(words, str) or not words:
        return None
    bound = files.bounds.text_chars if limit is None else limit
    return storable_text(files.redactor.text(words), bound)


def clean_name(files: RunFiles, name: object) -> str | None:
    """A name without secrets, as an identifier; None if it is none or empty."""
    return bounded_name(files.redactor.text(name)) if isinstance(name, str) and name else None


def clean_json(files: RunFiles, value: Any) -> Any:
    """JSON without secrets, as it may stand in a record."""
    # Records nest it some levels deeper, and readers of files count from the top.
    depth = files.bounds.json_depth - 8
    return storable_json(files.redactor.json(value), files.bounds.text_chars, depth)


def goal_of(words: str | None, limit: int) -> tuple[GoalPart, ...]:
    """A goal of text alone."""
    return (TextPart(text=storable_text(words, limit)),) if words else ()


def task_name_of(goal: str) -> str:
    """A name for a task that nothing names but its words: the same words, the same task."""
    return f"task-{hashlib.sha256(goal.encode('utf-8', 'replace')).hexdigest()[:16]}"


def iso_moment(value: Any) -> datetime | None:
    """An ISO 8601 time in UTC; None if it is none or names no zone."""
    words = text(value)
    if words is None or len(words) > _MOST_ISO_CHARS:
        return None
    try:
        at = datetime.fromisoformat(words)
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo and is_of_a_calendar(at) else None


def last_url(steps: tuple[StepRecord, ...]) -> str | None:
    """Where the run was when it ended, as far as its observations say."""
    for step in reversed(steps):
        for seen in (step.after, step.before):
            if seen is not None and seen.url:
                return seen.url
    return None


UNKNOWN_VERSION = "unknown"


def task_set_of(task_name: str, packages: Mapping[str, str]) -> TaskSetRecord:
    """The set that the first word of a task's name stands for: `miniwob.click-test` -> `miniwob`.

    Args:
        task_name: as BrowserGym registers it, without `browsergym/`.
        packages: installed packages and their versions; the set's version is that of
            `browsergym-<set>`, the package that brings its tasks.
    """
    name = task_name.partition(".")[0] or task_name
    return TaskSetRecord(name=name, version=packages.get(f"browsergym-{name}", UNKNOWN_VERSION))


def read_packages(listing: str) -> dict[str, str]:
    """Versions by package from lines of `name==version`."""
    pairs = (line.strip().partition("==") for line in listing.splitlines())
    return {name: version[:100] for name, equals, version in pairs if equals and name}
