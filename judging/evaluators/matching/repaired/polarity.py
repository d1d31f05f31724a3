"""Yes or no: the word itself, or a statement about what the task asks to check."""

from __future__ import annotations

import re
from enum import StrEnum

from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.saying import Question

_LEAD = re.compile(
    r"(?:[-*•·+]\s++)?(?:(?:the |my )?(?:final |correct )?answer(?: is)?|result)?\s*+(?:[:=]\s*+)?"
    r"[\"'(]*+"
    r"(?P<word>yes|no)\b(?!\s+(?:is|was|or)\b)"
)
_BOTH = re.compile(
    r"\b(?:yes\W{1,3}(?:or|and)\W+no|no\W{1,3}(?:or|and)\W+yes|yes ?[/|] ?no|no ?[/|] ?yes"
    r"|(?:yes\W{1,3}no|no\W{1,3}yes)(?!\s+\w))\b"
)
_AFTER_NO = re.compile(r"\s*(?:$|[.,;:!?)\"'\n-]|(?:it|this|that|the|they|you|its|there)\b)")
_MARKED = re.compile(
    r"\b(?:answer(?: to [^.\n]{1,60})? is|answer\s*[:=]|conclusion\s*:)\s*[\"']?(yes|no)\b"
)
_CHECKED = re.compile(
    r"\b(?:if|whether)\b.{1,200}?\b(?:is|are|was|were|has been|have been|can be|could be)\s+"
    r"(?P<state>[a-z]{3,20})\b"
)
_OPPOSITES = {
    "closed": "open",
    "open": "closed",
    "merged": "unmerged",
    "reached": "unreachable",
    "public": "private",
    "private": "public",
    "enabled": "disabled",
    "disabled": "enabled",
}
_SAME = {"reached": "reachable"}
_OPEN = re.compile(
    r"\b(?:if|whether|may|might|could|should|would|maybe|perhaps|possibly|probably|seems?|appears?)\b"
)
"""What comes after these in a clause is no statement of how things are."""
_ASKED = re.compile(r"[^.;:!\n]{0,60}\?")
_NEGATED = re.compile(r"(?:\b(?:not|never|no longer|cannot)|n't)(?:\s+(?!but\b)[a-z]+){0,3}\s*$")


class Polarity(StrEnum):
    """What an answer says to a yes-no question."""

    YES = "yes"
    NO = "no"
    BOTH = "both"


def said_polarity(text: str, question: Question, rules: Rules) -> Polarity | None:
    """Yes, no, or both at once; None where the answer says neither.

    The word it opens with or marks as the answer decides; without one, what it states about
    the thing that the task asks to check.
    """
    if _BOTH.search(text) and rules.allow(Rule.SHOTGUN):
        return Polarity.BOTH
    lead = _LEAD.match(text)
    if lead and (lead["word"] == "yes" or _AFTER_NO.match(text, lead.end())):
        return Polarity(lead["word"])
    marked = _MARKED.findall(text)
    if marked:
        return Polarity(marked[-1])
    return _stated(text, question) if rules.allow(Rule.POLARITY) else None


def _stated(text: str, question: Question) -> Polarity | None:
    checked = _CHECKED.search(question.intent)
    if not checked:
        return None
    state = checked["state"]
    said = {_holds(text, match) for match in _states(text, state)}
    said |= {_holds(text, match) for match in _states(text, _SAME.get(state))}
    said |= {not _holds(text, match) for match in _states(text, _OPPOSITES.get(state))}
    if len(said) != 1:
        return None
    return Polarity.YES if said.pop() else Polarity.NO


def _states(text: str, state: str | None) -> list[re.Match[str]]:
    found = re.finditer(rf"\b{re.escape(state)}\b", text) if state else ()
    return [match for match in found if not _is_open(text, match)]


def _is_open(text: str, match: re.Match[str]) -> bool:
    """Whether it is asked, supposed or left open there instead of stated."""
    clause = re.split(r"[.;:!?\n]", text[max(0, match.start() - 80) : match.start()])[-1]
    asked = _ASKED.match(text, match.end())
    return asked is not None or _OPEN.search(clause) is not None


def _holds(text: str, match: re.Match[str]) -> bool:
    clause = re.split(r"[.,;:!?\n]", text[max(0, match.start() - 80) : match.start()])[-1]
    return _NEGATED.search(clause) is None
