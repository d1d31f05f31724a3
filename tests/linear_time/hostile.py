"""Texts that make readers do more work than they are long."""

import re
from collections.abc import Iterator

from tests.linear_time.growth import Hostile

_SIGNS = "aZ_1 \t\n\r-.,:;/\\|'\"`#()[]{}<>=*+?&%$@!~^\0é、あ\ud800\U0001f600"
_PAIRS = (
    "a, ", "a ", "1.", "1,", "a1", "a_", "a-", "\\'", '\\"', "' ", '" ', "()", "[]", "{}", "<a>",
    "('", "['", '{"', '"a": ', "a=", "a=a&", "a/", "//", "a.", "\r\n", "\n ", " \n", "a\n", "\n\n",
    "- ", "# ", "**", "*a", "__", "_a", "``", "<!--", "&#", "&amp;", "%2", "$1", "or ", "no ",
    "1-", "1:", ": ", " of ", " and ", "a@", "@a", "://", "http://a", "\ud800a", "é ", "f(", "f('",
    "a b\n", '{"a":', "[1,", "(1,", "[a](", "![", "> ", "| a ", "\\u0000", "\\", "[\\", '"\\"',
)  # fmt: skip
_BEGINNINGS = "([{<'\"`#*_-\\a1"


def general_texts() -> Iterator[Hostile]:
    """Signs and short pieces of what is written in words, markup, code, addresses and numbers."""
    for unit in (*_SIGNS, *_PAIRS):
        yield Hostile("", unit, "")
        yield Hostile("", unit, "\0")
    for beginning in _BEGINNINGS:
        for unit in ("a", "1", " ", "\n", "\\", ".", ",", "a "):
            yield Hostile(beginning, unit, "")


def repeated_texts() -> Iterator[Hostile]:
    """Those among them that are one piece over and over."""
    return (text for text in general_texts() if not text.before and not text.after)


_ATOM = re.compile(
    r"\(\?P<\w+>|\(\?P=\w+\)|\(\?[:=!>]|\(\?<[=!]"  # how groups begin
    r"|\\[bBAZ]|[()|^$]|[*+?]|\{\d*,?\d*\}"  # what stands for no character
    r"|(?P<sign>\\x..|\\u....|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)",
    re.DOTALL,
)
_LIKELY = "a1 A_-.,:/'\"\n\t([{<=@#&x"
_MOST_SIGNS = 40


def texts_for(pattern: "re.Pattern[str] | re.Pattern[bytes]") -> Iterator[Hostile]:
    """What each part of the pattern matches, repeated behind what the parts before it match."""
    signs = _signs(pattern)
    units = dict.fromkeys(
        "".join(signs[start : start + length])
        for length in (1, 2, 3, len(signs))
        for start in range(len(signs) - length + 1)
    )
    before = {0: "", **{place: "".join(signs[:place]) for place in range(1, len(signs))}}
    for unit in units:
        for after in ("", "\0"):
            yield Hostile("", unit, after)
    for place, sign in enumerate(signs):
        for unit in dict.fromkeys((sign, " ", "a", "1", sign + " ")):
            for after in ("", "\0"):
                yield Hostile(before[place], unit, after)


def _signs(pattern: "re.Pattern[str] | re.Pattern[bytes]") -> list[str]:
    """One character for each part of the pattern that matches one, in their order."""
    source = pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    flags = pattern.flags & re.IGNORECASE
    found = [atom["sign"] for atom in _ATOM.finditer(text) if atom["sign"]]
    return [_matched(atom, flags) for atom in found][:_MOST_SIGNS]


def _matched(atom: str, flags: int) -> str:
    try:
        one = re.compile(atom, flags | re.DOTALL)
    except re.error:  # a back reference
        return "a"
    candidates = _LIKELY + atom
    return next((sign for sign in candidates if one.fullmatch(sign)), None) or next(
        (chr(code) for code in range(0x20, 0x10000) if one.fullmatch(chr(code))), "a"
    )
