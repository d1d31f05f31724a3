"""What a campaign of faults found, as the file that it writes and operators load.

The file comes from outside: it is read within bounds, and nothing in it is trusted.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from runs.operations.faults.failures_withstood import FAILURES

MAX_BYTES = 4 * 1024**2
MAX_RECORDS = 2_000
MAX_COUNT = 10**12


class UnreadableReportError(Exception):
    """A file that is no report of faults; the message says where and why."""


class Database(StrEnum):
    """On what it was tried: the database with its broker, or neither."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"
    NONE = "none"


class Broker(StrEnum):
    FILES = "files"
    REDIS = "redis"
    NONE = "none"


Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Seconds = Annotated[float, Field(ge=0, le=10**7, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FaultRecord(_Part):
    """One test: what was done to the system so many times, and what was found afterwards."""

    failure: Annotated[int, Field(ge=1, le=len(FAILURES))]
    """Its number in `FAILURES`."""
    test: Name
    injected: Line
    database: Database
    broker: Broker
    times: Count
    acknowledged: Count = 0
    """Writes that were answered with success."""
    kept: Count = 0
    """How many of them were there afterwards, exactly once."""
    lost: Count = 0
    doubled: Count = 0
    left_over: Count = 0
    """Processes, files or rows that nobody needed any more."""
    more: dict[Name, Count] = Field(default_factory=dict, max_length=20)
    """What else was counted, in words."""
    recovery_p50_s: Seconds | None = None
    recovery_p95_s: Seconds | None = None
    seconds: Seconds = 0.0
    problems: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    held: bool
    """Whether the promise was kept."""
    at: AwareDatetime
    version: Name

    @property
    def counted(self) -> dict[str, int]:
        """What else was counted, without what there was none of."""
        return {name: count for name, count in self.more.items() if count}


class FaultReport(_Part):
    """All that one campaign found."""

    made_at: AwareDatetime
    version: Name
    records: Annotated[tuple[FaultRecord, ...], Field(max_length=MAX_RECORDS)]


def read_report(content: bytes) -> FaultReport:
    """The report in this file.

    Raises:
        UnreadableReportError: it is too large, no JSON, or not as a report must be.
    """
    if len(content) > MAX_BYTES:
        raise UnreadableReportError(f"larger than {MAX_BYTES} bytes")
    try:
        return FaultReport.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UnreadableReportError(f"{where}: {first['msg']}") from None
