"""No regular expression of the project takes more than linear time, whatever the text.

Every pattern is found in the source: none is listed here but those that see a few words only.
"""

import re
from collections.abc import Callable
from itertools import chain

import pytest

from judging.evaluators.matching.repaired import assertion
from tests.linear_time.growth import grows_too_fast
from tests.linear_time.hostile import general_texts, texts_for
from tests.linear_time.sources import Pattern, patterns

pytestmark = pytest.mark.slow

# They look at the `assertion._REACH` characters before a mention, and at no more.
SEE_A_FEW_WORDS = frozenset({assertion._OR_BEFORE.pattern})
FOUND, UNREAD = patterns()


def test_every_pattern_in_the_source_is_found():
    assert not UNREAD
    assert {one.method for one in FOUND} >= {"match", "search", "fullmatch", "finditer", "sub"}
    assert {one.compiled.pattern for one in FOUND} >= {*SEE_A_FEW_WORDS, assertion._COUNTING}


@pytest.mark.parametrize("pattern", FOUND, ids=lambda one: f"{one.place}-{one.method}")
def test_a_pattern_takes_linear_time(pattern):
    if pattern.compiled.pattern in SEE_A_FEW_WORDS:
        pytest.skip("is shown a few words only")
    assert too_slow(pattern) is None


@pytest.mark.parametrize(
    "quadratic",
    [
        r"([^\W\d]\w*)\s*\(",
        r"\s+$",
        r"'(?:[^'\\]|\\.)*'",
        r"\d+ ?km",
        r"<b>.*?</b>",
        r"[\w.-]+@[\w-]+",
        r"(?:x+x+)+y",
    ],
)
def test_more_than_linear_time_is_noticed(quadratic):
    planted = Pattern("planted", re.compile(quadratic), "search")
    assert too_slow(planted) is not None


def too_slow(pattern: Pattern) -> str | None:
    texts = chain(general_texts(), texts_for(pattern.compiled))
    return grows_too_fast(work_of(pattern), texts)


def work_of(pattern: Pattern) -> Callable[[str], object]:
    method = getattr(pattern.compiled, pattern.method)
    binary = isinstance(pattern.compiled.pattern, bytes)

    def work(text: str) -> None:
        subject = text.encode("utf-8", "surrogatepass") if binary else text
        if pattern.method in ("sub", "subn"):
            method(subject[:0], subject)
        elif pattern.method == "finditer":
            list(method(subject))
        else:
            method(subject)

    return work
