"""Tell whether two looks at a page show the same, whatever differs from one load to the next.

Left out are element ids, focus, addresses and references inside the tree, clocks, and the parts
of an address that belong to a session or to measuring visitors. All else counts: texts, values,
states, the order of things, and which tabs are open.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

DIGEST_BYTES = 16

_VOLATILE_PARAMETERS = frozenset(
    [
        "sid",
        "session",
        "session_id",
        "sessionid",
        "jsessionid",
        "phpsessid",
        "aspsessionid",
        "csrf",
        "csrftoken",
        "csrf_token",
        "csrfmiddlewaretoken",
        "authenticity_token",
        "form_key",
        "nonce",
        "_",
        "ts",
        "timestamp",
        "cb",
        "cachebuster",
        "cache_buster",
        "gclid",
        "fbclid",
        "msclkid",
        "_ga",
    ]
)
_VOLATILE_PREFIXES = ("utm_",)
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)

# Ids of other elements are given out anew by many frameworks at every load.
_PROPERTIES = (
    "url|controls|owns|labelledby|describedby|errormessage|activedescendant|details|flowto"
)
# Possessive all through: pages are large, and there is nothing to come back to.
# No quotation begins at an escaped mark: else each of them in one without an end is tried.
_QUOTED = (
    r"(?:(?<!\\)'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'"
    r"|(?<!\\)\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\")"
)
_ID = re.compile(r"(\n\t*+)\[\w+\] ")
_LEFT_OUT = rf" (?:focused\b(?!=)|(?:{_PROPERTIES})=(?:{_QUOTED}|\[[^\]\n]*+\]|[^,\n]*+))"
_KEPT = re.compile(rf"((?:[^,'\"]++|{_QUOTED}|,(?!{_LEFT_OUT})|['\"])++)|,{_LEFT_OUT}")
"""What stays, in its one group, or a property that goes; quoted texts stay whatever they hold."""
_TEXT = re.compile(_QUOTED)
_CLOCK = re.compile(
    r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?"
    r"|\b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?(?: ?[AaPp][Mm])?\b"
    r"|\b\d++ (?:second|minute|hour)s? ago\b|\bjust now\b"
    r"|(?<!\d)\d++ ?(?:秒|分|時間)前"
)
_CLOCK_DIGITS = re.compile(r":\d\d")
_CLOCK_WORD = "(clock)"


def page_fingerprint(url: str, axtree: str, other_tabs: Iterable[str] = ()) -> str:
    """32 hex digits, the same for every look at the same page in the same state.

    Args:
        axtree: as BrowserGym flattens it, one node a line.
        other_tabs: addresses of the tabs that are open beside this one, in order.
    """
    tabs = "\n".join(stable_url(tab) for tab in other_tabs)
    content = f"{stable_url(url)}\n{tabs}\n\n{stable_tree(axtree)}"
    digest = hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=DIGEST_BYTES)
    return digest.hexdigest()


@lru_cache(maxsize=256)
def stable_url(url: str) -> str:
    """The address without session ids, cache busters and campaign names, parameters sorted."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    kept = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if not _is_volatile(name.lower())
    )
    path = _PATH_SESSION.sub("", parts.path)
    return urlunsplit((parts.scheme, parts.netloc, path, urlencode(kept), parts.fragment))


def stable_tree(axtree: str) -> str:
    """The tree without what differs between two loads of the same page."""
    # Two calls and no function for each match: a page has thousands.
    kept = "".join(_KEPT.findall("".join(_ID.split(f"\n{axtree}"))[1:]))
    if not _may_hold_clock(kept):
        return kept
    return "\n".join(map(_without_clocks, kept.split("\n")))


def _without_clocks(line: str) -> str:
    """The line with the clocks in its quoted texts left out; nothing quoted goes over its end."""
    if not _may_hold_clock(line):
        return line
    return _TEXT.sub(lambda text: _CLOCK.sub(_CLOCK_WORD, text[0]), line)


def _may_hold_clock(text: str) -> bool:
    """Told quickly: the long pattern is slow on digits, of which pages are full."""
    if " ago" in text or "just now" in text or "前" in text:
        return True
    return ":" in text and _CLOCK_DIGITS.search(text) is not None


def _is_volatile(name: str) -> bool:
    return name in _VOLATILE_PARAMETERS or name.startswith(_VOLATILE_PREFIXES)
