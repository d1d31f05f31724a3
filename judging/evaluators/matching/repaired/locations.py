"""URLs and clone addresses in answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from judging.evaluators.matching.hosts import (
    ANNOTATORS_HOST,
    USUAL_ALIASES,
    HostAliases,
    canonical_url,
    is_stand_in,
    loopback,
)
from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.texts import Mention, Question

_URL = re.compile(
    r"(?<![\w@./-])(?:https?://)?(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24})"
    r"(?::\d{1,5})?(?:/[^\s<>\"'`)\]]*)?"
)
_CLONE = re.compile(
    r"(?P<command>git clone\s+)?(?<![\w@./-])"
    r"(?:ssh://(?P<user>[\w.-]{1,64})@(?P<host>[\w.-]{1,255})(?::\d{1,5})?/(?P<path>[\w./-]{1,500})"
    r"|(?P<user2>[\w.-]{1,64})@(?P<host2>[\w.-]{1,255}):(?P<path2>[\w.-][\w./-]{0,500}))"
)


def location_mentions(reference: str, text: str, question: Question, rules: Rules) -> list[Mention]:
    """Where a text gives the URL or clone address that the reference is."""
    clone = next(iter(_clones(reference)), None)
    if clone:
        if not rules.allow(Rule.CLONE_COMMANDS):
            return []
        hosts = question.host_aliases
        return [Mention(c.start, c.end) for c in _clones(text) if c.says(clone, hosts)]
    if re.match(r"https?://", reference) and rules.allow(Rule.ANSWER_URLS):
        return [
            Mention(start, end)
            for start, end, url in _urls(text)
            if same_location(url, reference, question.host_aliases)
        ]
    return []


def _urls(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _URL.finditer(text):
        url = match[0].rstrip(".,;:!?")
        yield match.start(), match.start() + len(url), url


def same_location(url: str, reference: str, host_aliases: HostAliases) -> bool:
    """Whether a URL in an answer leads where the reference leads.

    Where the deployment's names are not known and the reference's host is only a stand-in for
    them (a public name, the annotators' server), any other host with the same path will do.
    """
    aliases = host_aliases or USUAL_ALIASES
    try:
        own, wanted = canonical_url(url, aliases), canonical_url(reference, aliases)
    except ValueError:
        return False
    if (unquote(own[1]), own[2]) != (unquote(wanted[1]), wanted[2]):
        return False
    if own[0] == wanted[0]:
        return True
    stands_in = is_stand_in(urlsplit(reference).netloc.lower())
    return not host_aliases and stands_in and bool(wanted[1]) and not is_stand_in(own[0])


@dataclass(frozen=True, slots=True)
class _Clone:
    start: int
    end: int
    with_command: bool
    user: str
    host: str
    path: str

    def says(self, reference: _Clone, host_aliases: HostAliases) -> bool:
        """Same user and repository, and a host that may stand for the reference's.

        The reference names the annotators' server, which no other deployment shows. Where the
        deployment's names are known the host must be one of them; else any will do.
        """
        if reference.with_command and not self.with_command:
            return False
        if (self.user, self.path) != (reference.user, reference.path):
            return False
        if loopback(self.host) == loopback(reference.host):
            return True
        known = {
            loopback((urlsplit(name).hostname or "").lower())
            for group in host_aliases
            for name in group
        }
        if known:
            return loopback(self.host) in known and (
                reference.host in known or reference.host == ANNOTATORS_HOST
            )
        return reference.host == ANNOTATORS_HOST


def _clones(text: str) -> Iterator[_Clone]:
    for match in _CLONE.finditer(text):
        path = (match["path"] or match["path2"]).rstrip(".").removesuffix(".git")
        written = match[0].rstrip(".")
        yield _Clone(
            start=match.start(),
            end=match.start() + len(written),
            with_command=match["command"] is not None,
            user=match["user"] or match["user2"],
            host=match["host"] or match["host2"],
            path=path,
        )
