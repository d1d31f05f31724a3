"""The classes of infrastructure errors: what can end a run and is never the agent's doing."""

from enum import StrEnum


class Fault(StrEnum):
    """What of the infrastructure failed. A run that ends in one is an error, not a failure."""

    BROWSER_CRASH = "browser_crash"
    BROWSER_HUNG = "browser_hung"
    """It did not answer in time."""
    BROWSER_MISSING = "browser_missing"
    NAVIGATION_TIMEOUT = "navigation_timeout"
    """A page that the environment itself opened did not come in time."""
    HTTP_429 = "http_429"
    """The task's own site showed a page that asks for fewer requests."""
    HTTP_5XX = "http_5xx"
    """The task's own site showed an error page of its server."""
    SITE_NOT_READY = "site_not_ready"
    """The task's own site cannot be reached, or is not ready to be used."""
    LOGIN_FAILED = "login_failed"
    TASK_UNAVAILABLE = "task_unavailable"
    """Nothing here provides the task: a package or a setting is missing."""
    ENVIRONMENT_OTHER = "environment_other"
    PROVIDER_RATE_LIMITED = "provider_rate_limited"
    PROVIDER_OVERLOADED = "provider_overloaded"
    """5xx, the provider's own word for it, or an answer that is none of its protocol's."""
    PROVIDER_UNREACHABLE = "provider_unreachable"
    """No connection, or no whole reply in time."""
    PROVIDER_OTHER = "provider_other"
    """It does not take the key or the request, or is not set up."""
    WORKER_LOST = "worker_lost"
    """The worker died, froze or was shut down."""
    HARNESS = "harness"
    """A fault of our own code."""

    @property
    def may_pass(self) -> bool:
        """Whether another attempt may be spared it with nothing changed."""
        return self not in _NOT_CURED_BY_TIME


_NOT_CURED_BY_TIME = frozenset(
    {Fault.BROWSER_MISSING, Fault.TASK_UNAVAILABLE, Fault.PROVIDER_OTHER}
)
