"""Texts made comparable: Unicode, white space, accents and markup."""

from __future__ import annotations

import re
import unicodedata
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
_LINK = re.compile(r"!?\[([^\]\n]{0,500})\]\((https?://[^)\s]{1,2000})\)")
_CODE = re.compile(r"(?<!`)`++([^`\n]{1,2000}+)`++")
_STRONG = re.compile(r"(\*\*|__)(?=\S)([^\n]{1,500}?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=\S)([^\n*_]{1,500}?)(?<=\S)\1(?![\w*])")
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" ?(?:\r\n|\n)[\s]*")

LONGEST_CACHED = 20_000
"""Characters; whole pages are folded afresh instead of being kept in memory."""

_FOLDING_RULES = (
    Rule.MARKUP,
    Rule.UNICODE,
    Rule.DIACRITICS,
    Rule.WHITE_SPACE,
    Rule.PUNCTUATION,
)


def fold(text: str, rules: Rules) -> str:
    """The text with everything taken away that the rules in force call immaterial, case kept.

    Line breaks stay: lists are told by them.
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
