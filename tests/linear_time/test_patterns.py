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
from tests.linear_time.sources import Pattern, package_of, packages, patterns

pytestmark = pytest.mark.slow

# They look at the `assertion._REACH` characters before a mention, and at no more.
SEE_A_FEW_WORDS = frozenset({assertion._OR_BEFORE.pattern})


def test_every_pattern_in_the_source_is_found():
    found, unread = patterns()
    assert not unread
    assert {package_of(one.module) for one in found} <= {*packages()}
    assert {one.method for one in found} >= {"match", "search", "fullmatch", "finditer", "sub"}
    assert {one.compiled.pattern for one in found} >= {*SEE_A_FEW_WORDS, assertion._COUNTING}


@pytest.mark.parametrize("package", packages())
def test_patterns_take_linear_time(package):
    asked = [
        one
        for one in patterns()[0]
        if package_of(one.module) == package and one.compiled.pattern not in SEE_A_FEW_WORDS
    ]
    assert not {str(one): slow for one in asked if (slow := too_slow(one))}


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
    texts = dict.fromkeys(chain(general_texts(), texts_for(pattern.compiled)))
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
