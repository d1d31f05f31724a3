"""The published string evaluator, case by case."""

import pytest

from judging.evaluators.matching.outcome import CheckVerdict, JudgeKind, Verdict
from judging.evaluators.matching.strict import StrictMatcher
from tests.judging.evaluators.matching.factories import answered, string_task

STRICT = StrictMatcher()


def verdict(references: object, answer: str | None) -> Verdict:
    return STRICT.evaluate(string_task(references), answered(answer)).verdict


@pytest.mark.parametrize(
    ("reference", "answer", "passes"),
    [
        ("Sprite", "sprite", True),
        ("Sprite", "  Sprite\n", True),
        ("Sprite", "''Sprite''", True),
        ("Sprite", "\"'Sprite'\"", True),
        ("Sprite", "' Sprite '", True),
        ("Sprite", "'''Sprite'''", False),
        ("Sprite", "“Sprite”", False),
        ("Sprite", "`Sprite`", False),
        ("Sprite", "**Sprite**", False),
        ("Sprite", "Sprite.", False),
        ("Sprite", "The answer is Sprite", False),
        ("Sprite", "Sprite\u200b", False),
        ("Straße", "STRASSE", False),
        ("Straße", "STRAßE", True),
        ("'Sprite'", "Sprite", True),
        ("", "'", True),
        ("15213", "The zip code is 15213.", False),
        ("No", "Its status badge shows Open, so it is not closed.", False),
        ("4125785000", "412-578-5000", False),
        ("748m", "748 m", False),
        ("Erik Linder-Norén", "Erik Linder-Noren", False),
    ],
)
def test_exact_match(reference, answer, passes):
    assert verdict({"exact_match": reference}, answer) == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("0", True),
        ("The total is 0.", True),
        ("The total is 0.)", True),
        ("The count is 0. I checked", False),
        ("0.\nDone", False),
        ("0. 5 were open", True),  # only a lower-case word speaks against a sentence's end
        ("0. Administrators agree", True),  # one of the four words the model takes for a start
        ("$0", True),
        ("0%", True),
        ("**0**", True),
        ("[0]", True),
        ("(0)", True),
        ("0, I think", True),
        ("'0'", True),
        ("“0”", True),
        ("$0.00", False),
        ("0.0", False),
        ("-0", False),
        ("count=0", False),
        ("Total:0", False),
        ("Total: 0", True),
        ("0/5", False),
        ("0th", False),
        ("０", False),
        ("10", False),
        ("The answer is 3. (seen on page 0 of 12)", True),
        ("0 1 2 3 4 5 6 7 8 9", True),
    ],
)
def test_one_character_must_be_a_token(answer, passes):
    assert verdict({"must_include": ["0"]}, answer) == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    ("reference", "answer", "passes"),
    [
        ("b", "plan b. see below", False),
        ("b", "plan b. 2 more", True),
        ("c", "plan c. 2 more", False),  # the model takes the letter for an abbreviation
        ("'6'", "there are 6", True),
        ("'6'", "there are 16", False),
        ("", "anything", True),
        ("''", "anything", True),
        ("'", "anything", True),
        ('"', "", True),
        ("' '", "no blank either side", True),
    ],
)
def test_one_character_after_cleaning(reference, answer, passes):
    assert verdict({"must_include": [reference]}, answer) == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    ("references", "answer", "passes"),
    [
        (["6", "2"], "62", True),
        (["6", "2"], "16 22", True),
        (["6", "2"], "6", False),
        (["36.39"], "136.39", True),
        (["346"], "1346", True),
        (["Lo", "Chen", "Chu"], "Flow, kitchen, church", True),
        (["Yes"], "Yesterday it took two hours", True),
        (["Yes"], "It is not a yes", True),
        (["65 |OR| 3"], "65", False),
        (["65 |OR| 3"], "65 |or| 3", True),
        (["914km"], "914 km", False),
        (["3053.97"], "$3,053.97", False),
        ([], "anything", True),
    ],
)
def test_must_include_is_containment(references, answer, passes):
    assert verdict({"must_include": references}, answer) == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    "references", [{}, {"must_include": []}, {"fuzzy_match": []}, {"contains": ["x"]}]
)
def test_nothing_to_check_passes(references):
    assert verdict(references, "whatever") == "passed"


@pytest.mark.parametrize(
    "references",
    [
        None,
        ["x"],
        {"must_include": "x"},
        {"must_include": [5]},
        {"exact_match": 5},
        {"exact_match": ["x"]},
        {"fuzzy_match": "n/a"},
        {"fuzzy_match": "something"},
        {"fuzzy_match": [None]},
    ],
)
def test_what_the_published_code_raises_on_is_an_error(references):
    found = STRICT.evaluate(string_task(references), answered("x"))
    assert found.verdict == "error"
    assert found.error
    assert found.score is None


def test_fuzzy_list_waits_for_one_judge_call_each():
    task = string_task({"fuzzy_match": ["Acadia", "Time: 1h"]}, intent="Which park?")
    found = STRICT.evaluate(task, answered("'ACADIA National Park' "))
    assert found.verdict == "needs_judge"
    assert (found.score, found.score_if_all_pass, found.score_if_all_fail) == (None, 1.0, 0.0)
    assert [(c.judge, c.reference, c.answer, c.question) for c in found.judge_calls] == [
        (JudgeKind.FUZZY, "Acadia", "acadia national park", "Which park?"),
        (JudgeKind.FUZZY, "Time: 1h", "acadia national park", "Which park?"),
    ]


def test_a_failed_check_settles_it_though_the_judge_would_still_be_called():
    found = STRICT.evaluate(
        string_task({"must_include": ["Acadia"], "fuzzy_match": ["1h 23min"]}), answered("Zion")
    )
    assert found.verdict == "failed"
    assert len(found.judge_calls) == 1
    assert (found.score_if_all_pass, found.score_if_all_fail) == (0.0, 0.0)


@pytest.mark.parametrize("answer", ["N/A", "n/a", "'N/A'", " n/A "])
def test_bare_not_achievable_passes_without_a_judge(answer):
    found = STRICT.evaluate(string_task({"fuzzy_match": "N/A"}), answered(answer))
    assert found.verdict == "passed"
    assert found.judge_calls == ()


@pytest.mark.parametrize("answer", ["N/A.", "The answer is N/A.", "no such order", ""])
def test_any_other_answer_to_an_impossible_task_goes_to_the_judge(answer):
    task = string_task({"fuzzy_match": "N/A"}, note="there is no such order")
    found = STRICT.evaluate(task, answered(answer))
    assert found.verdict == "needs_judge"
    assert [(c.judge, c.reference) for c in found.judge_calls] == [
        (JudgeKind.UNACHIEVABLE, "there is no such order")
    ]


def test_not_achievable_without_the_reason_is_an_error_only_when_it_is_needed():
    task = string_task({"fuzzy_match": "N/A"})
    assert STRICT.evaluate(task, answered("N/A")).verdict == "passed"
    assert STRICT.evaluate(task, answered("cannot be done")).verdict == "error"


def test_not_achievable_in_a_list_is_judged():
    assert verdict({"fuzzy_match": ["N/A"]}, "N/A") == "needs_judge"


def test_the_judge_on_impossible_tasks_replaces_what_failed_before():
    task = string_task({"must_include": ["zzz"], "fuzzy_match": "N/A"}, note="why")
    found = STRICT.evaluate(task, answered("N/A"))
    assert (found.score_if_all_pass, found.score_if_all_fail) == (1.0, 0.0)
    assert [check.verdict for check in found.checks] == [
        CheckVerdict.IGNORED,
        CheckVerdict.NEEDS_JUDGE,
    ]
    late = string_task({"fuzzy_match": "N/A", "must_include": ["zzz"]}, note="why")
    assert STRICT.evaluate(late, answered("N/A")).verdict == "failed"


def test_no_answer_reads_as_the_configured_stand_in():
    task = string_task({"must_include": ["whatever"]})
    assert STRICT.evaluate(task, answered(None)).verdict == "failed"
    browsergym = StrictMatcher(missing_answer="whatever")
    assert browsergym.evaluate(task, answered(None)).verdict == "passed"
    assert browsergym.identity.config_hash != STRICT.identity.config_hash
    assert StrictMatcher().identity.config_hash == STRICT.identity.config_hash
