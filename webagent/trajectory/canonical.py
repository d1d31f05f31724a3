"""One spelling for one content, and the hash of a run's: sorted keys, no spaces, UTF-8, no NaN."""

import hashlib
import json
import math
from collections.abc import Set
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from webagent.trajectory.records import Record, RunRecord, StepRecord, TaskRecord


def canonical_json(value: Record) -> bytes:
    """The one UTF-8 line of a record, ended by a line feed.

    Unknown (None) fields are left out; None inside free JSON stays. Decimals lose trailing
    zeros, so that a database column's scale does not change the spelling.
    """
    return _spell(plain_json(value))


def plain_json(value: Record) -> dict[str, Any]:
    """What `canonical_json` spells, as a JSON document."""
    plain: dict[str, Any] = _plain(value.model_dump(exclude_none=True))
    return plain


def hashed_json(value: Record | dict[str, Any], exclude: Set[str] = frozenset()) -> bytes:
    """Like `canonical_json`, for hashing only: whole floats are spelled as integers.

    Databases may hand back 2.0 as 2 inside free JSON; the content is the same.
    """
    plain = value.model_dump(exclude_none=True) if isinstance(value, Record) else value
    kept = {key: item for key, item in plain.items() if key not in exclude}
    return _spell(_plain(kept, whole_floats=True))


def json_digest(value: Record | dict[str, Any]) -> str:
    """SHA-256 (hex): equal for equal content."""
    return hashlib.sha256(hashed_json(value)).hexdigest()


def plain_decimal(value: Decimal) -> str:
    """A decimal without exponent and without trailing zeros: `0.0010` -> `0.001`."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
)


def _spell(plain: Any) -> bytes:
    return _ENCODER.encode(plain).encode() + b"\n"


def _plain(value: Any, *, whole_floats: bool = False) -> Any:
    if isinstance(value, dict):
        return {
            key: item if type(item) is str else _plain(item, whole_floats=whole_floats)
            for key, item in value.items()
        }
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, whole_floats=whole_floats) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if whole_floats and value.is_integer() else value
    if isinstance(value, Decimal):
        return plain_decimal(value)
    if isinstance(value, datetime):
        return utc_text(value)
    return str(value) if isinstance(value, UUID) else value


def utc_text(value: datetime) -> str:
    """A time in UTC as ISO 8601, ended by Z; one without a zone is in UTC."""
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return aware.isoformat().replace("+00:00", "Z")


NOT_CONTENT = {
    "id",
    "task_id",
    "experiment",
    "trial",
    "attempt",
    "retry_of",
    "rerun_of",
    "superseded_by",
    "source",
}
"""Fields of a run that say where it stands, not what happened in it."""


def run_content_hash(task: TaskRecord, run: RunRecord, steps: tuple[StepRecord, ...]) -> str:
    """SHA-256 over what was to be done, what was done and what came of it.

    Ids, the place among other attempts and the path it was read from are left out: they
    differ from one installation to the next.
    """
    digest = hashlib.sha256()
    identity = {
        "task_set": task.task_set.name,
        "version": task.task_set.version,
        "external_id": task.external_id,
    }
    digest.update(hashed_json(identity))
    digest.update(hashed_json(run, exclude=NOT_CONTENT))
    for step in steps:
        digest.update(hashed_json(step, exclude={"run_id"}))
    return digest.hexdigest()
