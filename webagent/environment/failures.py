"""What can go wrong that is no fault of the agent."""

from __future__ import annotations

from webagent.trajectory.faults import Fault


class EnvironmentFailure(Exception):
    """The environment failed, not the agent: the run ends in an error and may be retried.

    `retry_after_s` is what the site asked for, where it did.
    """

    def __init__(
        self,
        message: str,
        fault: Fault = Fault.ENVIRONMENT_OTHER,
        *,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.retry_after_s = retry_after_s

    @property
    def retriable(self) -> bool:
        """Whether the same run may well succeed later, with nothing changed."""
        return self.fault.may_pass


class UnknownTask(EnvironmentFailure):
    """No environment here provides a task of that name; the message says what is missing."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Fault.TASK_UNAVAILABLE)
