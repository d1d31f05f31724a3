"""What went wrong with a provider, in words for people and without a key in them."""

import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from email.utils import parsedate_to_datetime

import httpx2

from webagent.llm.interface import FailureKind, ModelFailure, Usage

_MAX_QUOTE = 300
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|rk|key|Bearer)[-_ ][\w*.…-]{6,}", re.IGNORECASE)
_CODES = {
    "rate_limit_exceeded": FailureKind.RATE_LIMITED,
    "rate_limit_error": FailureKind.RATE_LIMITED,
    "insufficient_quota": FailureKind.NO_CREDIT,
    "billing_error": FailureKind.NO_CREDIT,
    "billing_hard_limit_reached": FailureKind.NO_CREDIT,
    "overloaded_error": FailureKind.OVERLOADED,
    "timeout_error": FailureKind.OVERLOADED,
    "authentication_error": FailureKind.NOT_AUTHORISED,
    "permission_error": FailureKind.NOT_AUTHORISED,
    "invalid_api_key": FailureKind.NOT_AUTHORISED,
    "context_length_exceeded": FailureKind.TOO_LONG,
    "request_too_large": FailureKind.TOO_LONG,
    "content_filter": FailureKind.REFUSED,
    "content_policy_violation": FailureKind.REFUSED,
    "image_content_policy_violation": FailureKind.REFUSED,
    "invalid_prompt": FailureKind.REFUSED,
    "bio_policy": FailureKind.REFUSED,
    "misalignment_policy_violation": FailureKind.REFUSED,
}
"""Providers' own words that say more than the status, or come where there is no status."""
_VAGUE = {
    "server_error": FailureKind.OVERLOADED,
    "api_error": FailureKind.OVERLOADED,
    "invalid_request_error": FailureKind.REJECTED,
    "not_found_error": FailureKind.REJECTED,
}
"""Words that say less than a status does."""
_STATUSES = {
    401: FailureKind.NOT_AUTHORISED,
    402: FailureKind.NO_CREDIT,
    403: FailureKind.NOT_AUTHORISED,
    408: FailureKind.OVERLOADED,
    413: FailureKind.TOO_LONG,
    429: FailureKind.RATE_LIMITED,
}
_SAYS_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|context (?:length|window)|input is too long",
    re.IGNORECASE,
)
_WORDS = {
    FailureKind.RATE_LIMITED: "the provider wants fewer requests",
    FailureKind.OVERLOADED: "the provider is overloaded or has an error of its own",
    FailureKind.REFUSED: "the provider refuses the request",
    FailureKind.TOO_LONG: "the request is longer than the model can take",
    FailureKind.REJECTED: "the provider rejects the request",
    FailureKind.NOT_AUTHORISED: "the provider does not accept the key",
    FailureKind.NO_CREDIT: "the account at the provider has no credit left",
}


class _NoRequests(logging.Filter):
    """The SDKs log whole requests at DEBUG: prompts, and what trajectories hold."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG


def keep_requests_out_of_logs() -> None:
    """From now on the SDKs log no request, whatever level they are set to."""
    for name in ("openai._base_client", "anthropic._base_client"):
        logger = logging.getLogger(name)
        if not any(isinstance(known, _NoRequests) for known in logger.filters):
            logger.addFilter(_NoRequests())


def scrub(text: str, key: str | None) -> str:
    """The text on one line, without the key or what looks like one, and not too long."""
    if key:
        text = text.replace(key, "[key]")
    text = " ".join(_LOOKS_LIKE_A_KEY.sub("[key]", text).split())
    return text if len(text) <= _MAX_QUOTE else f"{text[: _MAX_QUOTE - 1]}…"


def failure_of_words(
    name: str, words: str, code: str, key: str | None, *, usage: Usage | None = None
) -> ModelFailure:
    """What a provider says went wrong in the middle of a reply, where there is no status."""
    kind = _refined(_CODES.get(code) or _VAGUE.get(code, FailureKind.OVERLOADED), words)
    return ModelFailure(
        kind, f"{name}: {_WORDS[kind]}: {scrub(words, key)}", usage=usage, may_be_billed=True
    )


def _refined(kind: FailureKind, words: str) -> FailureKind:
    """What the words say where the code does not."""
    if kind is FailureKind.REJECTED and _SAYS_TOO_LONG.search(words):
        return FailureKind.TOO_LONG
    if kind is FailureKind.REJECTED and "credit balance" in words:
        return FailureKind.NO_CREDIT
    return kind


def failure_of_status(
    name: str,
    status: int,
    headers: Mapping[str, str],
    words: str,
    codes: tuple[str | None, ...],
    key: str | None,
) -> ModelFailure:
    """What an HTTP error means. `codes`: the provider's own words for it, best first."""
    if status < 400 and codes[-1]:
        return failure_of_words(name, words, codes[-1], key)
    kind = _STATUSES.get(status)
    if kind is None:
        kind = FailureKind.OVERLOADED if status >= 500 else FailureKind.REJECTED
    for code in codes:
        if code in _CODES:
            kind = _CODES[code]
            break
    kind = _refined(kind, words)
    # Providers quote a part of the key where they do not accept it.
    quote = "" if kind is FailureKind.NOT_AUTHORISED else f": {scrub(words, key)}"
    return ModelFailure(
        kind, f"{name}: {_WORDS[kind]} (HTTP {status}){quote}", retry_after=retry_after(headers)
    )


def failure_of_transport(name: str, error: BaseException | None) -> ModelFailure:
    """What an error below HTTP means."""
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return ModelFailure(FailureKind.TIMED_OUT, f"{name}: no connection in time")
    if isinstance(error, httpx2.TimeoutException):
        return ModelFailure(
            FailureKind.TIMED_OUT, f"{name}: no whole reply in time", may_be_billed=True
        )
    if isinstance(error, httpx2.ConnectError | httpx2.UnsupportedProtocol | httpx2.ProxyError):
        return ModelFailure(FailureKind.UNREACHABLE, f"{name}: cannot be reached: {error}")
    if isinstance(error, httpx2.DecodingError):
        return unreadable(name, str(error))
    return ModelFailure(
        FailureKind.UNREACHABLE,
        f"{name}: the connection broke before the end of the reply",
        may_be_billed=True,
    )


def cut_stream(name: str) -> ModelFailure:
    """A streamed reply that came to no end."""
    return ModelFailure(
        FailureKind.UNREACHABLE, f"{name}: the stream ended too early", may_be_billed=True
    )


def unreadable(name: str, reason: str) -> ModelFailure:
    return ModelFailure(
        FailureKind.UNREADABLE, f"{name}: the reply cannot be read: {reason}", may_be_billed=True
    )


def retry_after(
    headers: Mapping[str, str], wall_clock: Callable[[], float] = time.time
) -> float | None:
    """Seconds that the provider asks to wait; None where it does not say.

    A date is read against the provider's own clock where the reply tells it.
    """
    if (seconds := _number(headers.get("retry-after-ms"), scale=0.001)) is not None:
        return seconds
    given = headers.get("retry-after")
    if (seconds := _number(given)) is not None:
        return seconds
    until = _moment(given)
    if until is None:
        return None
    now = _moment(headers.get("date"))
    return max(0.0, until - (wall_clock() if now is None else now))


def _number(value: str | None, scale: float = 1.0) -> float | None:
    try:
        number = float(value or "") * scale
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _moment(value: str | None) -> float | None:
    try:
        moment = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAttempt:
    """One try. `result` is "ok" or the kind of failure; `cost` None where nobody knows it."""

    model: str
    result: str
    is_retry: bool
    seconds: float
    usage: Usage
    cost: Decimal | None


_watchers: list[Callable[[RequestAttempt], None]] = []


def watch(watcher: Callable[[RequestAttempt], None]) -> None:
    """From now on tell this watcher, in the thread that asked; it must not raise."""
    if watcher not in _watchers:
        _watchers.append(watcher)


def tell(tried: RequestAttempt) -> None:
    """Tell every watcher."""
    for watcher in _watchers:
        watcher(tried)
