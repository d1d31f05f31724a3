"""Secrets taken out of log lines: what looks like one, and those that this process was given."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from urllib.parse import unquote, urlsplit

from webagent.trajectory.redaction import REDACTED, Redactor, is_secret_key

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
