"""Where does an answer say a reference? Each kind of reference has its own ways of being said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from judging.evaluators.matching.repaired import quantities as q
from judging.evaluators.matching.repaired.amounts import amount_mentions, read_amount
from judging.evaluators.matching.repaired.pages import (
    ANNOTATORS_HOST,
    USUAL_ALIASES,
    HostAliases,
    canonical_url,
    is_stand_in,
    loopback,
)
from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.texts import (
    MOST_MENTIONS,
    Mention,
    Question,
    literal_mentions,
)

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


_COORDINATES_ASKED = r"coordinate|latitude|longitude|\bdd format"
_PHONE_ASKED = r"phone|\bfax\b"
_POSTAL_ASKED = r"\bzip\b|post(?:al)? ?code"

_DIMENSIONS: Sequence[tuple[Callable[[str], Iterable[q.Quantity]], Rule]] = (
    (q.measures, Rule.UNITS),
    (q.durations, Rule.DURATIONS),
    (q.days, Rule.DATES),
    (q.months, Rule.DATES),
)


def quantity_mentions(reference: str, text: str, question: Question, rules: Rules) -> list[Mention]:
    """Where a text says a reference that is a quantity, a day, a place or a line."""
    readers = list(_DIMENSIONS)
    if question.asks(_COORDINATES_ASKED):
        readers.append((q.degrees, Rule.COORDINATES))
    if question.asks(_PHONE_ASKED):
        readers.append((q.phones, Rule.PHONES))
    found: list[Mention] = []
    for read, rule in readers:
        wanted = _only(read(reference), reference)
        if wanted and rules.allow(rule):
            found += [Mention(each.start, each.end) for each in read(text) if each.says(wanted)]
    if re.fullmatch(r"\d{5}", reference) and question.asks(_POSTAL_ASKED):
        pattern = rf"(?<![\w.-]){reference}-\d{{4}}(?![\w-])"
        if rules.allow(Rule.POSTAL_CODES):
            found += [Mention(m.start(), m.end()) for m in re.finditer(pattern, text)]
    return found


def is_quantity(reference: str) -> bool:
    """Whether the whole reference is a length, weight, duration, day or month."""
    return any(_only(read(reference), reference) for read, _ in _DIMENSIONS)


def _only(found: Iterable[q.Quantity], text: str) -> q.Quantity | None:
    """The quantity that makes up the whole text, if one does."""
    return next((each for each in found if (each.start, each.end) == (0, len(text))), None)


_LABELLED = re.compile(r"(?P<label>[^:]{2,80}): (?P<value>[^:]{1,80})")
_SEQUENCE = re.compile(r"the order is (?P<items>.+,.+)")
_COUNTRIES = frozenset({"united states", "united states of america", "usa"})
_COUNTRY = re.compile(r",?\s+(?:united states(?: of america)?|usa)\b")
ADDRESS_REACH = 400
"""Characters within which all parts of one address must stand."""


def find_mentions(reference: str, text: str, question: Question, rules: Rules) -> list[Mention]:
    """All places where the answer says the reference, as far as the rules in force allow.

    Args:
        reference: folded and in lower case, as is `text`.
    """
    found = _plain_mentions(reference, text, question, rules)
    sequence = _SEQUENCE.fullmatch(reference)
    if sequence and rules.allow(Rule.SEQUENCES):
        found += _sequence_mentions(re.split(r",\s*", sequence["items"]), text, rules)
    parts = [part.strip() for part in reference.split(",")]
    if len(parts) >= 5 and not sequence and rules.allow(Rule.ADDRESSES):
        found += _address_mentions(parts, text, question, rules)
    labelled = _LABELLED.fullmatch(reference)
    if labelled and rules.allow(Rule.LABELLED_VALUES):
        found += _labelled_mentions(labelled["label"], labelled["value"], text, question, rules)
    return sorted(set(found), key=lambda mention: (mention.start, mention.end))


def _plain_mentions(reference: str, text: str, question: Question, rules: Rules) -> list[Mention]:
    amount = read_amount(reference)
    if amount:
        found = list(amount_mentions(reference, amount, text, question, rules))
    else:
        found = literal_mentions(reference, text, rules)
    found += quantity_mentions(reference, text, question, rules)
    return found + location_mentions(reference, text, question, rules)


def _sequence_mentions(items: list[str], text: str, rules: Rules) -> list[Mention]:
    """All items in the given order, whether their first or their last mentions are looked at."""
    found = [literal_mentions(item, text, rules) for item in items]
    if not all(found):
        return []
    ordered = all(
        one[0].start < other[0].start and one[-1].start < other[-1].start
        for one, other in pairwise(found)
    )
    return [Mention(found[0][0].start, found[-1][-1].end)] if ordered else []


def _address_mentions(
    parts: list[str], text: str, question: Question, rules: Rules
) -> list[Mention]:
    """The address's parts one after the other, the country left out or not."""
    wanted = [part for part in parts if part and part not in _COUNTRIES]
    others = [_plain_mentions(part, text, question, rules) for part in wanted[1:]]
    found = []
    for first in literal_mentions(wanted[0], text, rules)[:MOST_MENTIONS]:
        end = first.end
        for mentions in others:
            following = [
                mention
                for mention in mentions
                if end <= mention.start < first.start + ADDRESS_REACH
            ]
            if not following:
                break
            end = following[0].end
        else:
            country = _COUNTRY.match(text, end)
            found.append(Mention(first.start, country.end() if country else end))
    return found


def _labelled_mentions(
    label: str, value: str, text: str, question: Question, rules: Rules
) -> list[Mention]:
    """The label with the value after it, before the next line, sentence or other label."""
    found = []
    for name in literal_mentions(label, text, rules)[:MOST_MENTIONS]:
        rest = re.split(r"[\n;]|\.\s", text[name.end :], maxsplit=1)[0]
        others = [
            other.start
            for sibling in question.siblings
            if (match := _LABELLED.fullmatch(sibling)) and match["label"] != label
            for other in literal_mentions(match["label"], rest, rules)
        ]
        rest = rest[: min(others, default=len(rest))]
        values = _plain_mentions(value, rest, question, rules)
        # With another number before it, the value is not what the label has.
        if values and not (values[0].number and re.search(r"\d", rest[: values[0].start])):
            found.append(Mention(name.start, name.end + values[0].end))
    return found


def is_checkable(reference: str) -> bool:
    """Whether a reference meant for a judge is a quantity or day that needs none."""
    labelled = _LABELLED.fullmatch(reference)
    return is_quantity(labelled["value"] if labelled else reference)
