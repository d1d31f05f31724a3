"""Two verdicts into one: what a judge may decide, and what stays as the matcher found it."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.evaluators.matching.outcome import (
    Check,
    CheckVerdict,
    MatchEvaluation,
    Verdict,
    not_applicable,
    settle,
)
from judging.evaluators.matching.pipeline import (
    JUDGE_CHECK,
    AskJudge,
    JudgeAnswer,
    asks_judge,
    combine,
    is_of_string_match,
)

STRING, URL, PAGE = "must_include", "url_match", "program_html 1 must_include"
YES = JudgeAnswer(verdict=Verdict.PASSED)
NO = JudgeAnswer(verdict=Verdict.FAILED)
BROKEN = JudgeAnswer(verdict=Verdict.ERROR, reason="timed out")


def matched(**checks: str) -> MatchEvaluation:
    """What a matcher found, by parts: string, url, page; each passed, failed, judge or nothing."""
    names = {"string": STRING, "url": URL, "page": PAGE}
    words = {"judge": CheckVerdict.NEEDS_JUDGE, "nothing": CheckVerdict.NO_EVIDENCE}
    return settle(
        [
            Check(
                name=names[part],
                verdict=words.get(said) or CheckVerdict(said),
                expected="",
                actual="",
                message="the page was not captured" if said == "nothing" else "",
            )
            for part, said in checks.items()
        ],
        (),
    )


def through(found: MatchEvaluation, answered: JudgeAnswer, asked: AskJudge) -> MatchEvaluation:
    """The pipeline's verdict: the judge is asked only where it has a say."""
    return combine(found, answered if asks_judge(found, asked) else None, asked)


BOTH = list(AskJudge)
TABLE = [
    # matcher, asked where needed, asked where not passed; each (with a yes, with a no)
    ({"string": "passed"}, ("passed", "passed"), ("passed", "passed")),
    ({"string": "failed"}, ("failed", "failed"), ("passed", "failed")),
    ({"string": "judge"}, ("passed", "failed"), ("passed", "failed")),
    ({"string": "judge", "url": "passed"}, ("passed", "failed"), ("passed", "failed")),
    ({"string": "failed", "url": "passed"}, ("failed", "failed"), ("passed", "failed")),
    ({"string": "failed", "url": "failed"}, ("failed", "failed"), ("failed", "failed")),
    ({"string": "judge", "url": "failed"}, ("failed", "failed"), ("failed", "failed")),
    ({"string": "judge", "page": "failed"}, ("failed", "failed"), ("failed", "failed")),
    ({"string": "passed", "page": "failed"}, ("failed", "failed"), ("failed", "failed")),
    ({"url": "failed"}, ("failed", "failed"), ("failed", "failed")),
    ({"page": "nothing"}, ("error", "error"), ("error", "error")),
    ({"string": "passed", "page": "nothing"}, ("error", "error"), ("error", "error")),
    ({"string": "judge", "page": "nothing"}, ("error", "error"), ("error", "error")),
    # With a no the product is 0 whatever the page shows; with a yes the page decides.
    ({"string": "failed", "page": "nothing"}, ("failed", "failed"), ("error", "failed")),
]


@pytest.mark.parametrize(("found", "needed", "not_passed"), TABLE)
def test_table(found: dict[str, str], needed: tuple[str, str], not_passed: tuple[str, str]) -> None:
    for asked, (with_yes, with_no) in (
        (AskJudge.WHERE_NEEDED, needed),
        (AskJudge.WHERE_NOT_PASSED, not_passed),
    ):
        assert through(matched(**found), YES, asked).verdict == with_yes
        assert through(matched(**found), NO, asked).verdict == with_no


@pytest.mark.parametrize("asked", BOTH)
@pytest.mark.parametrize(
    "found",
    [
        not_applicable("the task has no evaluation specification"),
        matched(string="passed"),
        matched(url="failed"),
        matched(page="nothing"),
        matched(string="judge", url="failed"),
    ],
)
def test_judge_that_could_change_nothing_is_not_paid(
    found: MatchEvaluation, asked: AskJudge
) -> None:
    assert not asks_judge(found, asked)
    assert combine(found, None, asked).verdict == found.verdict


@pytest.mark.parametrize("asked", BOTH)
def test_judge_without_a_verdict_leaves_none(asked: AskJudge) -> None:
    for found in (matched(string="judge"), matched(string="failed")):
        if asks_judge(found, asked):
            combined = combine(found, BROKEN, asked)
            assert (combined.verdict, combined.error) == (Verdict.ERROR, "timed out")
            assert combined.score is None


def test_judge_with_nothing_to_say_leaves_the_matchers_no() -> None:
    silent = JudgeAnswer(verdict=Verdict.NOT_APPLICABLE, reason="no reference answer")
    combined = combine(matched(string="failed"), silent, AskJudge.WHERE_NOT_PASSED)
    assert combined == matched(string="failed")
    waiting = combine(matched(string="judge"), silent, AskJudge.WHERE_NOT_PASSED)
    assert (waiting.verdict, waiting.error) == (Verdict.ERROR, "no reference answer")


def test_waiting_for_a_judge_that_is_not_asked_is_no_verdict() -> None:
    combined = combine(matched(string="judge"), None, AskJudge.WHERE_NEEDED)
    assert (combined.verdict, combined.error) == (Verdict.ERROR, "needs a judge")


def test_what_the_judge_stands_in_for_stays_visible_without_weight() -> None:
    found = matched(string="failed", url="passed")
    answered = JudgeAnswer(verdict=Verdict.PASSED, expected="15213", actual="It is 15213.")
    combined = combine(found, answered, AskJudge.WHERE_NOT_PASSED)
    assert [(check.name, check.verdict.value) for check in combined.checks] == [
        (STRING, "ignored"),
        (URL, "passed"),
        (JUDGE_CHECK, "passed"),
    ]
    assert combined.checks[-1].expected == "15213"


def test_only_what_waits_is_answered_where_a_judge_is_needed() -> None:
    found = settle(
        [
            Check(name="must_include", verdict=CheckVerdict.PASSED, expected="a", actual="a b"),
            Check(name="fuzzy_match", verdict=CheckVerdict.NEEDS_JUDGE, expected="b", actual="a b"),
        ],
        (),
    )
    combined = combine(found, YES, AskJudge.WHERE_NEEDED)
    verdicts = [check.verdict.value for check in combined.checks]
    assert (verdicts, combined.score) == (["passed", "ignored", "passed"], 1.0)


@pytest.mark.parametrize(
    ("name", "is_string"),
    [
        ("exact_match", True),
        ("must_include", True),
        ("must_include extra items", True),
        ("fuzzy_match", True),
        ("url_match", False),
        ("program_html 2 exact_match", False),
    ],
)
def test_parts_of_string_match(name: str, is_string: bool) -> None:
    check = Check(name=name, verdict=CheckVerdict.PASSED, expected="", actual="")
    assert is_of_string_match(check) is is_string


def some_check(names: list[str], verdicts: list[CheckVerdict]) -> st.SearchStrategy[Check]:
    return st.builds(
        Check,
        name=st.sampled_from(names),
        verdict=st.sampled_from(verdicts),
        expected=st.just(""),
        actual=st.just(""),
        message=st.just("missing"),
    )


# Only a part of string_match ever waits for a judge.
checks = st.lists(
    some_check(["exact_match", "must_include", "fuzzy_match"], list(CheckVerdict))
    | some_check([URL, PAGE], [v for v in CheckVerdict if v is not CheckVerdict.NEEDS_JUDGE]),
    max_size=6,
)
answers = st.sampled_from([YES, NO])


@given(checks, answers, st.sampled_from(AskJudge))
def test_score_is_the_product_of_its_parts(
    found: list[Check], answered: JudgeAnswer, asked: AskJudge
) -> None:
    first = settle(found, ())
    combined = through(first, answered, asked)
    weighing = [c for c in combined.checks if c.verdict is not CheckVerdict.IGNORED]
    if combined.verdict in (Verdict.PASSED, Verdict.FAILED):
        assert combined.score == prod(float(c.verdict is CheckVerdict.PASSED) for c in weighing)
    else:
        assert combined.score is None
        assert combined.error
    assert combined.verdict is not Verdict.NEEDS_JUDGE


@given(checks, st.sampled_from(AskJudge))
def test_always_yes_passes_no_more_than_the_other_parts_allow(
    found: list[Check], asked: AskJudge
) -> None:
    first = settle(found, ())
    combined = through(first, YES, asked)
    elsewhere = {c.verdict for c in found if not is_of_string_match(c)}
    if CheckVerdict.FAILED in elsewhere:
        assert combined.verdict is Verdict.FAILED
    elif CheckVerdict.NO_EVIDENCE in elsewhere:
        assert combined.verdict is not Verdict.PASSED
    if first.verdict is Verdict.PASSED:
        assert combined.verdict is Verdict.PASSED


@given(checks, st.sampled_from(AskJudge))
def test_always_no_never_turns_a_no_into_a_yes(found: list[Check], asked: AskJudge) -> None:
    first = settle(found, ())
    combined = through(first, NO, asked)
    assert (combined.verdict is Verdict.PASSED) == (first.verdict is Verdict.PASSED)
    if first.verdict is Verdict.FAILED:
        assert combined == first or combined.verdict is Verdict.FAILED


@given(checks, answers, st.sampled_from(AskJudge))
def test_matchers_error_stays_an_error(
    found: list[Check], answered: JudgeAnswer, asked: AskJudge
) -> None:
    first = settle(found, ())
    if first.verdict is Verdict.ERROR:
        assert through(first, answered, asked) == first


@given(checks, answers)
def test_asking_more_only_adds_passes_where_the_judge_says_yes(
    found: list[Check], answered: JudgeAnswer
) -> None:
    first = settle(found, ())
    less = through(first, answered, AskJudge.WHERE_NEEDED).verdict
    more = through(first, answered, AskJudge.WHERE_NOT_PASSED).verdict
    if less is Verdict.PASSED:
        assert more is Verdict.PASSED
    if more is Verdict.PASSED and less is not Verdict.PASSED:
        assert answered is YES
