"""Texts compared: folded, as question, answer and mention, and where one occurs in another."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from judging.evaluators.matching.repaired.rules import Rule, Rules

_TRADEMARKS = dict.fromkeys(map(ord, "™®℠©"))
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_LOOK_ALIKES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        "…": "...",
    }
)
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n`]*$\n?", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+|^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\n]{0,500}+)\]\((https?://[^)\s]{1,2000}+)\)")
_CODE = re.compile(r"(?<!`)`++([^`\n]{1,2000}+)`++")
_STRONG = re.compile(r"(\*\*|__)(?=\S)([^\n]{1,500}?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=\S)([^\n*_]{1,500}?)(?<=\S)\1(?![\w*])")
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" ?(?:\r\n|\n)[\s]*")

LONGEST_CACHED = 20_000
"""Characters; whole pages are folded afresh instead of being kept in memory."""

_FOLDING_RULES = (Rule.MARKUP, Rule.UNICODE, Rule.DIACRITICS, Rule.WHITE_SPACE, Rule.PUNCTUATION)


def fold(text: str, rules: Rules) -> str:
    """The text with everything taken away that the rules in force call immaterial, case kept.

    Line breaks stay: they separate the items of lists.
    """
    folding = _fold if len(text) <= LONGEST_CACHED else _fold.__wrapped__
    return folding(text, *(rules.allow(rule) for rule in _FOLDING_RULES))


def fold_plain(text: str, rules: Rules) -> str:
    """As `fold`, for texts that are no prose of an agent: accents, markup and signs stay."""
    unicode, white_space = rules.allow(Rule.UNICODE), rules.allow(Rule.WHITE_SPACE)
    folding = _fold if len(text) <= LONGEST_CACHED else _fold.__wrapped__
    folded = folding(text, False, unicode, False, white_space, False)
    return folded.replace("\n", " ") if white_space else folded


@lru_cache(maxsize=32)
def _fold(
    text: str, markup: bool, unicode: bool, diacritics: bool, white_space: bool, punctuation: bool
) -> str:
    if markup:
        text = _unwrap(text)
    if unicode:
        text = text.translate(_TRADEMARKS).translate(_INVISIBLE).translate(_LOOK_ALIKES)
        text = unicodedata.normalize("NFKC", text)
    if diacritics:
        decomposed = unicodedata.normalize("NFD", text)
        text = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
        text = unicodedata.normalize("NFC", text)
    if white_space:
        text = _LINE_ENDS.sub("\n", _BLANKS.sub(" ", text))
    if punctuation:
        text = text.replace(" & ", " and ")
    text = text.strip()
    return _unquote(text) if markup else text


def _unwrap(text: str) -> str:
    text = _HEADING.sub("", _FENCE.sub("", text))
    text = _LINK.sub(lambda m: m[1] if m[1] == m[2] else f"{m[1]} ({m[2]})", text)
    text = _CODE.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", _STRONG.sub(r"\2", text))


def _unquote(text: str) -> str:
    for left, right in ('""', "''", "“”", "‘’", "«»", "``"):
        inner = text[1:-1]
        if len(text) > 1 and text[0] == left and text[-1] == right and left not in inner:
            return _unquote(inner.strip())
    return text


def lower(text: str) -> str:
    """The text in lower case, character by character, so that positions stay the same."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@dataclass(frozen=True, slots=True)
class Mention:
    """Where an answer says a reference. `number` where it says it as a number."""

    start: int
    end: int
    number: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, folded: `cased` and its lower-case twin `text` share positions."""

    raw: str
    cased: str
    text: str

    @classmethod
    def read(cls, raw: str, rules: Rules) -> Answer:
        """The answer under the rules in force."""
        cased = fold(raw, rules)
        return cls(raw=raw, cased=cased, text=lower(cased))


LONGEST_ANSWER = 10_000
"""Characters, of references too; the published verdict stands on longer ones."""
MOST_MENTIONS = 100
"""Of one reference in one answer: whether it is asserted is asked of the first ones."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is known besides the reference itself.

    `exact` where the reference is to be the whole answer; `siblings` are all references of the
    same list, folded and in lower case, this one included.
    """

    intent: str
    exact: bool
    siblings: tuple[str, ...] = ()
    host_aliases: tuple[tuple[str, ...], ...] = ()

    def asks(self, pattern: str) -> bool:
        """Whether the task's wording matches."""
        return re.search(pattern, self.intent) is not None

    @property
    def alone(self) -> bool:
        """Whether this is the only reference."""
        return self.exact or len(self.siblings) <= 1


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
