"""What a campaign of faults found, as the file that it writes."""

from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from tests.faults.failures_withstood import FAILURES


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
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


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


class FaultReport(_Part):
    """All that one campaign found."""

    made_at: AwareDatetime
    version: Name
    records: tuple[FaultRecord, ...]
