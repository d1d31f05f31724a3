"""References found as they are written, on the boundaries of words."""

from __future__ import annotations

import re
from functools import lru_cache

from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.saying import Mention

_CODE_LIKE = re.compile(r"(?=.*[-_.@\d])\S+")
_SAFE_SYMBOLS = " \n\t.,'\"-:;()&/!?"


def literal_mentions(
    reference: str, text: str, rules: Rules, boundaries: Rule = Rule.WORD_BOUNDARIES
) -> list[Mention]:
    """Where the reference itself stands in a text.

    With the boundary rule in force it must not be part of a longer word; without it, any
    substring counts, as published, but single characters are left to the published token rule.
    """
    if not reference:
        return []
    bounded = rules.allow(boundaries)
    if not bounded and len(reference) == 1:
        return []
    pattern = _pattern(
        reference,
        rules.allow(Rule.PUNCTUATION),
        rules.allow(Rule.WHITE_SPACE),
        rules.allow(Rule.UNITS),
    )
    code = _CODE_LIKE.fullmatch(reference) is not None
    return [
        Mention(match.start(), match.end())
        for match in pattern.finditer(text)
        if not bounded or stands_alone(text, match.start(), match.end(), code=code)
    ]


@lru_cache(maxsize=256)
def _pattern(
    reference: str, any_punctuation: bool, any_white_space: bool, any_unit: bool
) -> re.Pattern[str]:
    words = re.findall(r"\w+", reference)
    symbols = set(re.sub(r"\w", "", reference))
    signed = reference.startswith("-")
    if any_punctuation and words and symbols <= set(_SAFE_SYMBOLS) and not signed:
        gaps = re.findall(r"(?<=\w)[^\w]+(?=\w)", reference)
        pattern = _piece(words[0], any_unit)
        for gap, word in zip(gaps, words[1:], strict=True):
            pattern += _gap(gap) + _piece(word, any_unit)
        return re.compile(pattern)
    if any_white_space and reference.strip():
        return re.compile(r"\s+".join(map(re.escape, reference.split())))
    return re.compile(re.escape(reference))


def _piece(word: str, any_unit: bool) -> str:
    """The word; where digits meet a unit, a blank may stand between (65cm, 65 cm)."""
    unit = re.fullmatch(r"(\d+)([a-z]{1,5})", word) if any_unit else None
    return f"{unit[1]}[ -]?{unit[2]}" if unit else re.escape(word)


def _gap(written: str) -> str:
    """What stands between two words, as written or as any blank or hyphen with signs around it.

    The dot of an initial needs no blank, and an apostrophe may be left out.
    """
    own = r"\s+".join(map(re.escape, re.split(r"\s+", written)))
    initial = r"|\." if written.startswith(".") else ""
    apostrophe = "|" if written == "'" else ""
    return rf"(?:{own}|[^\w\n]{{0,2}}[\s-][^\w\n]{{0,2}}{initial}{apostrophe})"


def stands_alone(text: str, start: int, end: int, *, code: bool = False) -> bool:
    """Whether the span is no part of a longer word; a plural's s may follow.

    With `code`, hyphens, dots and the like join words too: sku-1 is no part of sku-1-xl.
    """
    if start and _joins(text[start - 1], text[start]):
        return False
    if end < len(text) and _joins(text[end], text[end - 1]):
        plural = end - start >= 4 and not code and re.match(r"e?s\b", text[end : end + 3])
        return bool(plural)
    return not code or not (
        re.search(r"[^\W_][-_.@]+$", text[max(0, start - 3) : start])
        or re.match(r"[-_.@]+[^\W_]", text[end : end + 3])
    )


def _joins(outer: str, inner: str) -> bool:
    """Whether two neighbours belong to one word; in scripts without blanks they never do."""
    return all((c.isalnum() or c == "_") and _is_spaced_script(c) for c in (outer, inner))


def _is_spaced_script(character: str) -> bool:
    return character < "\u2e80" or "\uac00" <= character <= "\ud7a3"
