"""What can go wrong that is no fault of the agent."""

from __future__ import annotations

from enum import StrEnum


class FailureKind(StrEnum):
    """Which part of the environment failed."""

    BROWSER_MISSING = "browser_missing"
    BROWSER_CRASHED = "browser_crashed"
    SITE_NOT_READY = "site_not_ready"
    TIMEOUT = "timeout"
    UNKNOWN_TASK = "unknown_task"
    OTHER = "other"


_NOT_CURED_BY_TIME = frozenset({FailureKind.BROWSER_MISSING, FailureKind.UNKNOWN_TASK})


class EnvironmentFailure(Exception):
    """The environment failed, not the agent: the run ends in an error and may be retried."""

    def __init__(self, message: str, kind: FailureKind = FailureKind.OTHER) -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def retriable(self) -> bool:
        """Whether the same run may well succeed later, with nothing changed."""
        return self.kind not in _NOT_CURED_BY_TIME


class UnknownTask(EnvironmentFailure):
    """No environment here provides a task of that name; the message says what is missing."""

    def __init__(self, message: str) -> None:
        super().__init__(message, FailureKind.UNKNOWN_TASK)
