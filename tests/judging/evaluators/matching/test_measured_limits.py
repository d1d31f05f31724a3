"""Tolerances are tighter than those of WebArena-Verified 1.2.3: its measured limits, both ways.

Each wrong answer is one that its normalisers call equal (or that they lose a sign or a unit of);
the right ones are spellings that must not be lost over that.
"""

import pytest

from judging.evaluators.matching.outcome import Verdict
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from tests.judging.evaluators.matching.factories import answered, string_task

REPAIRED = RepairedMatcher()
PRICE = "How much does the item cost?"
COUNT = "How many reviews does the shop have?"
SHARE = "What share of the reviews is negative?"
DURATION = "How long does it take to drive from A to B?"
DISTANCE = "What is the distance between A and B?"
PLACE = "Tell me the coordinates of the museum in DD format"
PHONE = "What is the phone number of the hospital?"
DAY = "When was it ordered?"

# intent, reference, answers that say it, answers that do not
LIMITS = [
    (PRICE, "$5.41", ["5.41", "It costs $5.41.", "USD 5.41", "$5.410"], ["$5.49", "5.4", "$5.42"]),
    (COUNT, "1234", ["1,234", "1234 reviews"], ["1.234", "1,2345", "12,34"]),
    (COUNT, "1,234", ["1234", "1,234.0"], ["1.234", "234"]),
    (PRICE, "$5", ["$5.00", "5 dollars", "US$5", "($5)"], ["$-5", "-$5", "€5", "5 euros"]),
    (PRICE, "-$5", ["$-5", "-5", "-$5.00"], ["$5", "5"]),
    (PRICE, "$5", ["$5"], ["$5-$10", "$5 to $10", "$1-$5", "between $5 and $10"]),
    (SHARE, "65%", ["65 %", "65 percent", "It is 65%."], ["65", "0.65", "6.5%"]),
    (DURATION, "2min", ["2 minutes", "about 2 min"], ["5 min", "3 min", "2 h", "2", "2:00"]),
    (DURATION, "1h 35min", ["95 minutes", "1:35 hours", "1 hr 35 mins"], ["1:35", "95", "95 s"]),
    (DISTANCE, "914km", ["914 km", "914.2 km", "914,000 m"], ["900 km", "914.6 km", "914"]),
    (DISTANCE, "914km", ["914 kilometers"], ["914 m", "914 miles", "1914 km", "0.914 km"]),
    (DISTANCE, "557m", ["0.557 km", "0.56 km"], ["550 m", "560 m", "0.6 km", "557 miles"]),
    ("", "Cafe on Craig Street", ["cafe on craig street."], ["Cafe on Forbes Street"]),
    (DAY, "May 31, 2023", ["5/31/2023", "31.05.2023", "2023-05-31"], ["May 2023", "May 31", "31"]),
    (DAY, "May 2023", ["05/2023", "2023-05", "May, 2023"], ["May 2022", "May", "2023", "6/2023"]),
    (PLACE, "40.442", ["40.442° N", "40.4425"], ["40.44", "40.445", "40.442 S", "-40.442"]),
    (PHONE, "4125785000", ["412-578-5000", "+1 412 578 5000"], ["412-578-5001", "578-5000"]),
    (COUNT, "23", ["23 items", "twenty-three", "Total: 23"], ["~23", "23+", "230", "2 3", "23rd"]),
]  # fmt: skip


def verdict(references: object, intent: str, answer: str) -> Verdict:
    return REPAIRED.evaluate(string_task(references, intent=intent), answered(answer)).verdict


CASES = [
    (intent, reference, answer, passes)
    for intent, reference, right, wrong in LIMITS
    for answers, passes in ((right, True), (wrong, False))
    for answer in answers
]


@pytest.mark.parametrize(("intent", "reference", "answer", "passes"), CASES)
def test_limits(intent: str, reference: str, answer: str, passes: bool) -> None:
    expected = Verdict.PASSED if passes else Verdict.FAILED
    for references in ({"exact_match": reference}, {"must_include": [reference]}):
        assert verdict(references, intent, answer) == expected, references


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Yes, it is", True),
        ("Yes.", True),
        ("No, it is not", False),
        ("I cannot tell if it is closed", False),
        ("I could not check whether it is closed", False),
        ("If it is closed, the badge is red", False),
        ("Is it closed? That is unclear.", False),
        ("It may be closed", False),
        ("I checked whether it is closed. It is closed.", True),
    ],
)
def test_yes_is_said_by_what_is_stated_alone(answer: str, said: bool) -> None:
    intent = "Open my latest created issue to check if it is closed"
    expected = Verdict.PASSED if said else Verdict.FAILED
    assert verdict({"exact_match": "Yes"}, intent, answer) == expected
