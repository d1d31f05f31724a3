"""Whether an answer asserts what it mentions, and whether it says yes or no."""

import re
from enum import StrEnum

from judging.evaluators.matching.repaired.amounts import Numeral, numerals
from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.texts import Mention, Question

_REACH = 100
_QUOTES_ASKED = r"\bcriticis|\bsentences?\b|\bquotes?\b"
"""Where whole sentences are asked for, the words before one are not about it."""

_OPEN = r"[\"'($]*"
_NEGATED_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|except(?: for)?|excluding|rather than|instead of"
    r"|unlike|other than|as opposed to)"
    r"|n't)\b(?! (?:only|just|merely)\b)(?:\s+(?!but\b)[\w'$/-]+){0,3}\s+" + _OPEN + "$"
)
_NO_BEFORE = re.compile(r"\b(?:no|not a|not an|not the)\s+" + _OPEN + "$")
_NEGATED_AFTER = re.compile(
    r"[\"')/]*\s+(?:(?:is|was|are|were)(?:\s+not|n't)\s+(?:the|correct|right|it|what|among|one)\b"
    r"|(?:is|was)\s+(?:wrong|incorrect|not\s*[.!?]?$)"
    r"|(?:is|was|are|were)(?:\s+not|n't)\b[^.!?\n]{1,60}?[;,]\s*(?:but\s+|rather,?\s+|instead,?\s+)?"
    r"(?:it|that|this|the answer)(?:\s+(?:is|was)|'s)\b)"
)
_HEDGED_BEFORE = re.compile(
    r"(?:\b(?:might|may|could)\s+(?:well\s+|possibly\s+)?(?:be|have been)"
    r"|\b(?:maybe|perhaps|possibly|probably|presumably|likely(?!\s+to\b))\b,?"
    r"|\b(?:not sure|unsure|not certain|no idea)\b[^.;!?\n]{0,40}"
    r"|\b(?:i(?:'d| would| will|'ll)? guess|my (?:best )?guess|guessing)\b[^.;!?\n]{0,20})"
    r"(?:\s+[\w'$-]+){0,4}\s*[:\s]" + _OPEN + "$"
)
_HEDGED_AFTER = re.compile(
    r"[\s,(]{0,3}(?:but )?(?:i'm |i am )?(?:maybe|perhaps|possibly|probably|presumably|i guess"
    r"|not (?:entirely |completely |quite )?(?:sure|certain))\b"
)
_BOUNDED = re.compile(
    r"\b(?:more than|less than|fewer than|at least|at most|between)\s+" + _OPEN + "$"
)
_COUNTING = r"how many|\bcount\b|\bnumber of\b"
_ABOUT_BEFORE = re.compile(r"[~≈]\s?$")
_ABOUT_AFTER = re.compile(r"\+(?!\w)")
_ASKED_BACK = re.compile(r"[\"')]*\s*\?[\"')]*\s*$")
_RANGE_BEFORE = re.compile(r"(?:^|[^\w.,/-])[$€£]?(?P<other>\d[\d,.]*)\s?(?:-|\bto\b)\s?[$€£]?$")
_RANGE_AFTER = re.compile(r"\s?(?:-|\bto\b)\s?[$€£]?(?P<other>\d[\d,.]*\d|\d)(?![\w/-])")
_OR_AFTER = re.compile(r"[\"')/]*,?\s+(?:and/)?or\s+(?P<other>[^.,;:!?\n]{1,60})")
_OR_BEFORE = re.compile(r"(?P<other>[^.,;:!?\n]{1,60}?)[\"')]*,?\s+(?:and/)?or\s+" + _OPEN + "$")
_MARKER = re.compile(r"\b(?:final |correct )?answer(?:\s+(?:is|would be)\b|\s*[:=])[:\s]*")
_OTHER_ROLE = re.compile(
    r"\b(?:followed by|ahead of|runner-up(?: is| was)?|compared (?:to|with)|versus|vs\.?)\s+"
    + _OPEN
    + "$"
)


def is_asserted(mention: Mention, text: str, question: Question, rules: Rules) -> bool:
    """Whether the answer stands by what it says there, as far as the rules in force look."""
    if question.asks(_QUOTES_ASKED):
        return True
    before = _clause_before(text, mention.start)
    after = text[mention.end : mention.end + _REACH]
    if _negated(before, after, mention) and rules.allow(Rule.NEGATION):
        return False
    if _hedged(before, after, mention, question) and rules.allow(Rule.HEDGING):
        return False
    if _one_of_many(mention, text, before, after, question) and rules.allow(Rule.SHOTGUN):
        return False
    return not (_contradicted(mention, text, before, question) and rules.allow(Rule.CONTRADICTION))


def _clause_before(text: str, position: int) -> str:
    window = text[max(0, position - _REACH) : position]
    return re.split(r"[;!?\n]|\.\s", window)[-1]


def _negated(before: str, after: str, mention: Mention) -> bool:
    clause = re.split(r",\s|:\s", before)[-1]
    if _NEGATED_BEFORE.search(clause) or _NEGATED_AFTER.match(after):
        return True
    return not mention.number and _NO_BEFORE.search(clause) is not None


def _hedged(before: str, after: str, mention: Mention, question: Question) -> bool:
    if _HEDGED_BEFORE.search(before) or _HEDGED_AFTER.match(after):
        return True
    if not question.alone:
        return False
    if _ASKED_BACK.match(after) and not any("?" in each for each in question.siblings):
        return True
    if not mention.number:
        return False
    if question.asks(_COUNTING) and (_ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(after)):
        return True
    bounded = _BOUNDED.search(before)
    return bounded is not None and bounded[0].strip() not in question.intent


def _one_of_many(mention: Mention, text: str, before: str, after: str, question: Question) -> bool:
    if mention.number and (
        _row_of_numbers(mention, text, question) or _end_of_range(before, after, question)
    ):
        return True
    for match in (_OR_AFTER.match(after), _OR_BEFORE.search(before)):
        if match and _is_other_candidate(match["other"], question):
            return True
    return False


def _end_of_range(before: str, after: str, question: Question) -> bool:
    """Whether a number that is asked for alone is only where a range begins or ends."""
    if not question.alone:
        return False
    match = _RANGE_BEFORE.search(before) or _RANGE_AFTER.match(after)
    return match is not None and match["other"] not in question.intent


def _is_other_candidate(other: str, question: Question) -> bool:
    """Whether what stands across the "or" is a rival: short, and none of the references."""
    words = other.split()
    if any(sibling in other for sibling in question.siblings):
        return False
    return 1 <= len(words[:5]) <= 4 and not re.search(
        r"\b(?:so|more|less|is|are|was|visit|call|see|the following|equivalently|i\.e)\b", other
    )


_LINK = re.compile(r"\s*+(?:(?:,\s*+)?(?:and|and/or|or)|[,;|/]|(?<=\s)|-)\s*+[$€£]?\s*+")
_OR = re.compile(r"\bor\b|/|\|")


def _row_of_numbers(mention: Mention, text: str, question: Question) -> bool:
    """Whether a number stands in a row of rivals: "0 or 6", or a bare list of numbers."""
    found = [n for n in numerals(text) if not n.numbered]
    place = next((i for i, n in enumerate(found) if n.start == mention.start), None)
    if place is None:
        return False
    first = last = place
    while first and _LINK.fullmatch(text[found[first - 1].end : found[first].start]):
        first -= 1
    while last + 1 < len(found) and _LINK.fullmatch(text[found[last].end : found[last + 1].start]):
        last += 1
    row = found[first : last + 1]
    rivals = [n for n in row if not _is_reference(n, question) and n.value != found[place].value]
    if not rivals:
        return False
    links = text[row[0].start : row[-1].end]
    bare = re.fullmatch(r"[\s.\"']*", text[: row[0].start] + text[row[-1].end :]) is not None
    return _OR.search(links) is not None or len(row) >= 4 or bare


def _is_reference(numeral: Numeral, question: Question) -> bool:
    return any(
        numeral.value == other.value for sibling in question.siblings for other in numerals(sibling)
    )


def _contradicted(mention: Mention, text: str, before: str, question: Question) -> bool:
    if not question.alone:
        return False
    if _OTHER_ROLE.search(before):
        return True
    markers = list(_MARKER.finditer(text))
    if not markers:
        return False
    start = markers[-1].end()
    clause = re.split(r"[!?\n]|\.(?:\s|$)", text[start:], maxsplit=1)[0]
    empty = not clause.strip() or re.match(r"(?:below|as follows|the following|in the)\b", clause)
    within = start <= mention.start < start + len(clause)
    return not empty and not within and len(clause.split()) <= 8


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
_UNDECIDED = re.compile(
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
    stated = {_holds(text, match) for match in _states(text, state)}
    stated |= {_holds(text, match) for match in _states(text, _SAME.get(state))}
    stated |= {not _holds(text, match) for match in _states(text, _OPPOSITES.get(state))}
    if len(stated) != 1:
        return None
    return Polarity.YES if stated.pop() else Polarity.NO


def _states(text: str, state: str | None) -> list[re.Match[str]]:
    found = re.finditer(rf"\b{re.escape(state)}\b", text) if state else ()
    return [match for match in found if not _is_open(text, match)]


def _is_open(text: str, match: re.Match[str]) -> bool:
    """Whether it is asked, supposed or left open there instead of stated."""
    clause = re.split(r"[.;:!?\n]", text[max(0, match.start() - 80) : match.start()])[-1]
    asked = _ASKED.match(text, match.end())
    return asked is not None or _UNDECIDED.search(clause) is not None


def _holds(text: str, match: re.Match[str]) -> bool:
    clause = re.split(r"[.,;:!?\n]", text[max(0, match.start() - 80) : match.start()])[-1]
    return _NEGATED.search(clause) is None
