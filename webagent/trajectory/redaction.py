"""Secrets taken out of what comes from outside, in one place and counted.

Cookies, authorisation headers, passwords, tokens in addresses, keys of providers, bodies of
log-ins, and whatever was typed into a password field: `learn` it first, and it goes everywhere.
What stands in the task's own goal is no secret: everybody who may see the task reads it there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

REDACTED = "(redacted)"
SHORTEST_LEARNED = 4
"""Shorter words would be found inside others."""

_SECRET_KEY = re.compile(
    r"^(?:.*[_\-.])?(?:api[_\-]?key|secret|client[_\-]?secret|passw(?:or)?d|passphrase|pwd"
    r"|(?:access|auth|bearer|api|refresh|session|id|csrf|xsrf|authenticity)[_\-]?token"
    r"|credentials?|private[_\-]?key|form[_\-]?key|session[_\-]?id|phpsessid|jsessionid"
    r"|(?:proxy[_\-])?authorization|cookie|set[_\-]cookie|x[_\-]api[_\-]key|x[_\-]auth[_\-]token"
    r"|csrfmiddlewaretoken|token)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_COOKIE_KEYS = ("cookies", "storage_state", "storagestate")
_LOGIN_PATH = re.compile(
    r"(?:^|[/_\-.])(?:log[_\-]?in|sign[_\-]?in|auth|oauth2?|session|token)", re.I
)

_IN_URL = re.compile(
    r"(?P<before>[?&#;](?:[\w.\-]*[_\-.])?(?:api_?key|access_?token|auth_?token|id_?token|token"
    r"|refresh_?token|secret|client_secret|passw(?:or)?d|pwd|sig|signature|x-amz-signature"
    r"|x-amz-credential|x-amz-security-token|session_?id|sid|form_key)=)"
    r"(?P<secret>[^&#\s\"'<>\\()\[\]]+)",
    re.IGNORECASE,
)
_USER_INFO = re.compile(r"(?P<before>\bhttps?://[^\s/@:\"']+:)(?P<secret>[^\s/@\"']+)(?=@)")
_ADMIN_KEY = re.compile(r"(?P<before>/key/)(?P<secret>[0-9a-f]{32,})\b")
_HEADER = re.compile(
    r"(?P<before>\b(?:set-cookie|cookie|(?:proxy-)?authorization|x-api-key|x-auth-token)"
    r"[\"']?\s*[:=]\s*[\"']?)(?P<secret>[^\r\n\"']{4,})",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"(?P<before>\b(?:bearer|basic)\s+)(?P<secret>[A-Za-z0-9._~+/\-]{12,}=*)", re.I
)
_KEY = re.compile(
    r"(?P<before>)(?P<secret>\bsk-[A-Za-z0-9_\-]{20,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,}|\bxox[abprs]-[A-Za-z0-9\-]{10,}|\bAIza[0-9A-Za-z_\-]{35}"
    r"|\beyJ[A-Za-z0-9_\-]{8,300}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}"
    r"|\bhf_[A-Za-z0-9]{30,})"
)
# What a text must hold for the pattern to be worth a look: most texts hold none of it.
_PATTERNS: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    ("address", _IN_URL, ("=",)),
    ("address", _USER_INFO, ("@",)),
    ("address", _ADMIN_KEY, ("/key/",)),
    (
        "header",
        _HEADER,
        ("ookie", "OOKIE", "uthorization", "UTHORIZATION", "-key", "-KEY", "-token"),
    ),
    ("header", _BEARER, ("earer", "asic", "EARER", "ASIC")),
    ("key", _KEY, ("sk-", "AKIA", "ASIA", "gh", "xox", "AIza", "eyJ", "hf_")),
)


class Redactor:
    """Takes secrets out of one run's values, and counts what it took by kind."""

    def __init__(self, public: str = "") -> None:
        """`public` is text that is no secret whatever it looks like: the task's goal."""
        self.public = public
        self._learned: re.Pattern[str] | None = None
        self._secrets: set[str] = set()
        self.counts: Counter[str] = Counter()
        """Kind (address, cookie, header, key, log-in, password, setting) -> how many."""

    def learn(self, secret: str | None) -> None:
        """From now on take this out wherever it stands: it was typed into a password field."""
        if not secret or secret in self.public or secret == REDACTED:
            return
        self._secrets.add(secret)
        long = sorted((s for s in self._secrets if len(s) >= SHORTEST_LEARNED), key=len)
        if long:
            self._learned = re.compile("|".join(re.escape(s) for s in reversed(long)))

    def apart(self) -> Redactor:
        """The same secrets, counted apart: for text that is looked at a second time."""
        twin = Redactor(self.public)
        for secret in self._secrets:
            twin.learn(secret)
        return twin

    def text(self, value: str) -> str:
        """The text with every secret in it replaced."""
        if value in self._secrets:
            return self._replaced("password")
        if self._learned is not None:
            value, n = self._learned.subn(REDACTED, value)
            self.counts["password"] += n
        for kind, pattern, signs in _PATTERNS:
            if any(sign in value for sign in signs):
                value = pattern.sub(partial(self._kept, kind), value)
        return value

    def json(self, value: Any) -> Any:
        """The same value without secrets: by key, by header, by cookie, by what texts hold."""
        return self._value(value, "")

    def body(self, content: str, url: str = "") -> str:
        """A request's body: all of it if it is sent to a log-in, else its secret fields."""
        if not content:
            return content
        if _LOGIN_PATH.search(urlsplit(url).path if url else "") or _holds_password(content):
            return self._replaced("log-in")
        return self.text(content)

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, str):
            if value and value not in self.public and is_secret_key(key):
                return self._replaced(_kind(key))
            return self.text(value)
        if isinstance(value, dict):
            return dict(self._items(value, key))
        if isinstance(value, list | tuple):
            if key.lower() in _COOKIE_KEYS:
                return [self._cookie(item) for item in value]
            if is_secret_key(key) and value:
                return self._replaced(_kind(key))
            return [self._value(item, "") for item in value]
        return value

    def _items(self, value: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
        named = value.get("name")
        is_field = isinstance(named, str) and is_secret_key(named) and "value" in value
        for key, item in value.items():
            if key == "value" and is_field and isinstance(item, str) and item:
                yield key, self._replaced(_kind(str(named)))
            elif key == "postData":
                yield key, self._post(item, value)
            elif above.lower() in _COOKIE_KEYS and isinstance(item, str):
                yield key, self._replaced("cookie")
            else:
                yield key, self._value(item, str(key))

    def _cookie(self, item: Any) -> Any:
        if isinstance(item, dict) and isinstance(item.get("value"), str) and item["value"]:
            return {**item, "value": self._replaced("cookie")}
        return self._value(item, "")

    def _post(self, item: Any, request: dict[str, Any]) -> Any:
        url = request.get("url")
        if isinstance(item, str):
            return self.body(item, url if isinstance(url, str) else "")
        if not isinstance(item, dict):
            return self._value(item, "")
        words = item.get("text")
        if not isinstance(words, str):
            return self._value(item, "")
        clean = self.body(words, url if isinstance(url, str) else "")
        if clean == REDACTED:
            return {key: item[key] for key in ("mimeType",) if key in item} | {"text": clean}
        return {**self._value({k: v for k, v in item.items() if k != "text"}, ""), "text": clean}

    def _kept(self, kind: str, match: re.Match[str]) -> str:
        secret = match["secret"]
        if secret == REDACTED or secret in self.public:
            return match[0]
        return match["before"] + self._replaced(kind)

    def _replaced(self, kind: str) -> str:
        self.counts[kind] += 1
        return REDACTED


def is_secret_key(key: str) -> bool:
    """Whether what stands under such a key is a secret: `api_key`, `Set-Cookie`, `apiKey`."""
    return bool(key) and len(key) < 100 and bool(_SECRET_KEY.match(_CAMEL.sub("_", key)))


def is_password_field(*words: str | None) -> bool:
    """Whether a form field asks for a password, by its type, name, label or role."""
    return any(word and re.search(r"passw(?:or)?d|passphrase", word, re.I) for word in words)


def _kind(key: str) -> str:
    lowered = key.lower()
    if "cookie" in lowered:
        return "cookie"
    if "auth" in lowered and "token" not in lowered:
        return "header"
    return "password" if is_password_field(key) else "setting"


def _holds_password(content: str) -> bool:
    """Whether a form or a JSON body has a field for a password."""
    if "assw" not in content and "ASSW" not in content:
        return False
    if any(is_password_field(name) for name, _ in parse_qsl(content[:100_000])):
        return True
    return bool(re.search(r"[\"'][^\"']*passw(?:or)?d[^\"']*[\"']\s*:", content, re.I))
