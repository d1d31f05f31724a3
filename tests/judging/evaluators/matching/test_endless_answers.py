"""Answers of any length and content: linear time, and the published verdict beyond the bound."""

import pytest

from judging.evaluators.matching.outcome import CheckVerdict, MatchOutcome, MatchTask
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.texts import LONGEST_ANSWER
from judging.evaluators.matching.strict import StrictMatcher
from tests.linear_time.growth import Hostile, grows_too_fast
from tests.linear_time.hostile import repeated_texts

pytestmark = pytest.mark.slow

REFERENCES = {
    "number": ("must_include", ["1"]),
    "word": ("must_include", ["a"]),
    "words": ("exact_match", "a b"),
    "several": ("must_include", ["a", "b"]),
    "polarity": ("exact_match", "yes"),
    "amount": ("must_include", ["$1.50"]),
    "labelled": ("must_include", ["a: 1"]),
    "address": ("must_include", ["a, 1, a, a, 1"]),
    "day": ("must_include", ["may 1, 2023"]),
    "quantity": ("fuzzy_match", ["1 km"]),
    "location": ("must_include", ["http://a.com/a"]),
    "sequence": ("must_include", ["the order is a, b"]),
}
SAID = (
    "1 or ",
    "a, 1, a, a, 1, ",
    "answer: 1 ",
    "not a ",
    "a: 1 ",
    "one ",
    "$1 ",
    "1 km ",
    "1. a\n",
)


def task(name: str) -> MatchTask:
    approach, reference = REFERENCES[name]
    return MatchTask(
        intent="how many a are there, and is it open?",
        evaluation={"eval_types": ["string_match"], "reference_answers": {approach: reference}},
    )


@pytest.mark.parametrize("matcher", [StrictMatcher(), RepairedMatcher()], ids=lambda one: one.name)
@pytest.mark.parametrize("name", REFERENCES)
def test_an_answer_takes_linear_time(matcher, name):
    def work(text: str) -> None:
        matcher.evaluate(task(name), MatchOutcome(answer=text, final_url=None, pages=()))

    work("a")
    texts = [*repeated_texts(), *(Hostile("", unit, "") for unit in SAID)]
    assert grows_too_fast(work, texts, up_to_a_bound=True) is None


def test_the_published_verdict_stands_on_an_endless_answer():
    outcomes = [
        MatchOutcome(answer="it is not a" + " " * more, final_url=None, pages=())
        for more in (0, LONGEST_ANSWER)
    ]
    short, long = (RepairedMatcher().evaluate(task("word"), outcome) for outcome in outcomes)
    assert short.checks[0].verdict is CheckVerdict.FAILED
    assert long.checks[0].verdict is CheckVerdict.PASSED
    assert str(LONGEST_ANSWER) in long.checks[0].message
