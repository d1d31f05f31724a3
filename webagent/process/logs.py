"""Log lines: their facts, their form for people and for programs, and no secrets in them."""

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from pythonjsonlogger.json import JsonFormatter

from webagent.trajectory.redaction import REDACTED, Redactor, is_secret_key

Facts = Mapping[str, object]

_known: ContextVar[Facts] = ContextVar("log_context", default=MappingProxyType({}))


@contextmanager
def logged_with(**facts: object) -> Iterator[None]:
    """Every line of this thread meanwhile carries these facts beside those of blocks around it.

    A fact that is callable is asked when a line is written; None is left out. What is raised in
    the block carries the facts away as a note, for whoever logs it further out.
    """
    token = _known.set({**_known.get(), **facts})
    try:
        yield
    except Exception as error:
        error.add_note(" ".join(f"{name}={fact}" for name, fact in _as_values(facts).items()))
        raise
    finally:
        _known.reset(token)


def facts_now() -> dict[str, object]:
    """The facts of this moment."""
    return _as_values(_known.get())


def _as_values(facts: Facts) -> dict[str, object]:
    asked = {name: fact() if callable(fact) else fact for name, fact in facts.items()}
    return {name: fact for name, fact in asked.items() if fact is not None}


NO_SECRETS = frozenset({"PWD", "OLDPWD"})
SHORTEST_SECRET = 8
"""Shorter values stand in innocent words."""

_USER_INFO = re.compile(
    r"(?P<before>(?<![a-z0-9+.\-])[a-z0-9+.\-]++://[^\s/@:\"']*+:)[^\s/@\"']++(?=@)", re.I
)
_FIELD = re.compile(
    r"(?P<before>\b(?:password|passwd|secret|token|api_?key|sessionid|csrftoken)"
    r"[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&)}]{4,}",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """The text with passwords, tokens, keys and the like replaced."""
    text = _own_secrets().text(text)
    text = _USER_INFO.sub(rf"\g<before>{REDACTED}", text)
    return _FIELD.sub(rf"\g<before>{REDACTED}", text)


def redacted(value: object, key: str = "") -> object:
    """The same value, whatever it consists of, without secrets."""
    if is_secret_key(key):
        return REDACTED
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {name: redacted(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [redacted(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return without_secrets(str(value))


@cache
def _own_secrets() -> Redactor:
    """Knows every secret of the environment: keys of providers, passwords within addresses."""
    redactor = Redactor()
    for name, value in os.environ.items():
        if name in NO_SECRETS:
            continue
        secret = value if is_secret_key(name) or name.endswith("_KEY") else _password_in(value)
        if secret and len(secret) >= SHORTEST_SECRET:
            redactor.learn(secret)
    return redactor


def _password_in(value: str) -> str | None:
    if "://" not in value:
        return None
    try:
        password = urlsplit(value).password
    except ValueError:
        return None
    return unquote(password) if password else None


PROBE_PATHS = frozenset({"/livez", "/readyz", "/healthz", "/metrics"})
"""Asked by machines every few seconds: no line for those that go well."""


class WithoutProbes(logging.Filter):
    """No error for a probe that answers 503: whoever asked reads it, and the access log has it."""

    def filter(self, record: logging.LogRecord) -> bool:
        path = getattr(getattr(record, "request", None), "path", None)
        return not (path in PROBE_PATHS and getattr(record, "status_code", None) == 503)


class LineFormatter(logging.Formatter):
    """`LEVEL logger: what happened [fact=value …]`."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        facts = " ".join(f"{name}={fact}" for name, fact in facts_now().items())
        return super().formatMessage(record) + (f" [{facts}]" if facts else "")

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class JsonLineFormatter(JsonFormatter):
    """One JSON object a line: time, level, logger, event, the facts around it, its own fields."""

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        log_data |= {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **facts_now(),
        }
        super().add_fields(log_data, record, message_dict)
        log_data.pop("message", None)

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return {name: redacted(value, name) for name, value in log_data.items()}
