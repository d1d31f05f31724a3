"""What of a run was on screen before its label was given: told by the page, kept with the label.

In words such as `0-3 7 end answer`: steps by number, `end` where the last one is among them, and
`answer` where the final answer was in sight; `nothing` where none was; empty where no page told.
"""

import re
from bisect import bisect_left, bisect_right
from itertools import groupby

ANSWER, END, NOTHING = "answer", "end", "nothing"
MAX_SEEN = 5000
_WORDS = (ANSWER, END, NOTHING)
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def looks_seen(text: str) -> bool:
    """Whether it is made of such words, whatever the steps of the run are."""
    words = text.split()
    return len(text) <= MAX_SEEN and all(word in _WORDS or _SPAN.fullmatch(word) for word in words)


def read_seen(text: str, steps: frozenset[int]) -> str:
    """The same words, with `end` where it belongs.

    Args:
        text: what the page told, steps in order.
        steps: the run's own, by number.

    Raises:
        ValueError: it is anything else, or names a step that the run does not have.
    """
    words = text.split()
    if not words:
        return ""
    if len(text) > MAX_SEEN:
        raise ValueError("too long")
    seen, before, ordered = set[int](), -1, sorted(steps)
    for word in words:
        if word in _WORDS:
            continue
        span = _SPAN.fullmatch(word)
        if span is None:
            raise ValueError(word)
        first, last = int(span[1]), int(span[2] or span[1])
        if first not in steps or last not in steps or not before < first <= last:
            raise ValueError(word)
        seen.update(ordered[bisect_left(ordered, first) : bisect_right(ordered, last)])
        before = last
    told = _spans(seen, steps)
    told += [END] if steps and max(steps) in seen else []
    told += [ANSWER] if ANSWER in words else []
    return " ".join(told) or NOTHING


def _spans(seen: set[int], steps: frozenset[int]) -> list[str]:
    """Steps that follow one another in the run, from the first to the last of each stretch."""
    spans = []
    for is_seen, stretch in groupby(sorted(steps), key=seen.__contains__):
        if is_seen:
            first, *others = stretch
            spans.append(f"{first}-{others[-1]}" if others else f"{first}")
    return spans
