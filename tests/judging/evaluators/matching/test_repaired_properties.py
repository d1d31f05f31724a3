"""What holds for any task and any answer, by generated examples."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from judging.evaluators.matching.outcome import MatchOutcome, MatchTask, Verdict
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.rules import ALL_RULES, REJECTING, Rule
from judging.evaluators.matching.strict import StrictMatcher
from tests.judging.evaluators.matching.factories import answered, ended_at, string_task, url_task
from tests.judging.evaluators.matching.test_repaired_answers import RIGHT_ANSWERS, WRONG_ANSWERS
from tests.judging.evaluators.matching.test_repaired_urls_and_pages import RIGHT_PAGES, WRONG_PAGES

pytestmark = pytest.mark.slow

REPAIRED = RepairedMatcher()
ALL_OFF = RepairedMatcher(rules=frozenset())
STRICT = StrictMatcher()

pieces = st.sampled_from(
    [
        "Sprite", "sprite", "0", "5", "16", "0.", "$5.00", "1,234", "yes", "No", "not", "or",
        "and", "maybe", ",", ".", "\n- ", "**", "`", "'", '"', "™", "N/A", "the answer is",
        "914km", "914 km", "1h 23min", "40.442", "https://h/a", "é", "\u00a0", "-", "/",
        "page 5", "closed", "Lo", "5th", "git clone ssh://git@h:1/a/b.git", "Susan Zhang: 70",
        "3/2/22", "65 |OR| 3",
    ]
)  # fmt: skip
texts = st.one_of(
    st.lists(pieces, max_size=8).map(" ".join),
    st.lists(pieces, max_size=6).map("".join),
    st.text(max_size=30),
)
references = st.one_of(
    st.builds(lambda text: {"exact_match": text}, texts),
    st.builds(lambda items: {"must_include": items}, st.lists(texts, max_size=3)),
    st.builds(lambda items: {"fuzzy_match": items}, st.lists(texts, max_size=2)),
    st.just({"fuzzy_match": "N/A"}),
    st.builds(lambda a, b: {"must_include": [a], "fuzzy_match": b}, texts, st.just("N/A")),
    st.dictionaries(st.sampled_from(["exact_match", "must_include", "other"]), st.integers()),
)
intents = st.sampled_from(
    ["", "How many reviews?", "check if it is closed", "zip code", "phone number", "coordinates"]
)
urls = st.lists(
    st.sampled_from(
        ["http://localhost:9999", "http://127.0.0.1:9999", "http://reddit.com", "/f/nyc", "/f/NYC",
         "/", "?q=1", "&x=%20a", " |OR| ", "xyz", "%2D", "#a", ":80", "HTTP://LOCALHOST", "["]
    ),
    max_size=6,
).map("".join)  # fmt: skip


def everything(references: Any, intent: str, reference_url: str) -> MatchTask:
    return MatchTask(
        intent=intent,
        evaluation={
            "eval_types": ["string_match", "url_match", "program_html"],
            "reference_answers": references,
            "string_note": "why",
            "reference_url": reference_url,
            "program_html": [
                {"url": "last", "locator": "", "required_contents": {"must_include": ["5 |OR| a"]}},
                {"url": "last", "locator": "", "required_contents": {"exact_match": "47.00"}},
            ],
        },
    )


@settings(max_examples=300, deadline=None)
@given(references, intents, texts, urls, urls, texts)
def test_with_all_rules_off_it_is_the_published_evaluator(refs, intent, answer, wanted, url, page):
    task = everything(refs, intent, wanted)
    pages = (page, "47")
    outcome = MatchOutcome(answer=answer, final_url=url, pages=pages)
    published, off = STRICT.evaluate(task, outcome), ALL_OFF.evaluate(task, outcome)
    assert (off.verdict, off.score, off.judge_calls, off.error) == (
        published.verdict,
        published.score,
        published.judge_calls,
        published.error,
    )
    assert off.rules == ()


@settings(max_examples=300, deadline=None)
@given(references, intents, texts)
def test_a_difference_names_its_rules_and_they_make_it(refs, intent, answer):
    task = string_task(refs, intent=intent, note="why")
    published = STRICT.evaluate(task, answered(answer))
    found = REPAIRED.evaluate(task, answered(answer))
    if found.verdict == published.verdict:
        return
    assert found.rules
    named = {Rule(name) for name in found.rules}
    accepting, rejecting = frozenset(named - REJECTING), frozenset(named & REJECTING)
    if found.verdict is Verdict.PASSED:
        enough = RepairedMatcher(rules=accepting | REJECTING)
        assert enough.evaluate(task, answered(answer)).verdict is Verdict.PASSED
    if found.verdict is Verdict.FAILED:
        enough = RepairedMatcher(rules=rejecting | (ALL_RULES - REJECTING))
        assert enough.evaluate(task, answered(answer)).verdict is Verdict.FAILED


SETS = st.frozensets(st.sampled_from(sorted(ALL_RULES)))


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(WRONG_ANSWERS), SETS)
def test_no_set_of_rules_breaks_a_right_verdict_of_the_tables(row, rules):
    _, intent, refs, _, right = row
    found = RepairedMatcher(rules=rules).evaluate(
        string_task(refs, intent=intent, note="why"), answered(right)
    )
    assert found.verdict is Verdict.PASSED


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(RIGHT_ANSWERS), SETS)
def test_no_set_of_repairs_lets_a_wrong_answer_of_the_tables_pass(row, rules):
    _, intent, refs, _, wrong = row
    found = RepairedMatcher(rules=rules | REJECTING).evaluate(
        string_task(refs, intent=intent, note="why"), answered(wrong)
    )
    assert found.verdict is Verdict.FAILED


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(RIGHT_PAGES + WRONG_PAGES), SETS)
def test_nor_does_any_set_of_rules_about_urls(row, rules):
    rule, reference, page, other = row
    accepts = row in RIGHT_PAGES
    right, wrong = (page, other) if accepts else (other, page)
    enabled = rules | REJECTING | {rule}
    for url, verdict in ((right, Verdict.PASSED), (wrong, Verdict.FAILED)):
        found = RepairedMatcher(rules=enabled).evaluate(url_task(reference), ended_at(url))
        assert found.verdict is verdict


numbers = st.integers(0, 99_999).map(str)


@given(numbers, st.sampled_from(["{}", "{}.", "The total is {}.", "Answer: {}", "**{}**", "= {}"]))
def test_a_number_in_any_frame_passes(number, frame):
    found = REPAIRED.evaluate(
        string_task({"must_include": [number]}), answered(frame.format(number))
    )
    assert found.verdict is Verdict.PASSED


@given(numbers, numbers, st.sampled_from(["{}", "The total is {}.", "{} reviews", "${}", "no. {}"]))
def test_another_number_never_passes(reference, other, frame):
    assume(int(reference) != int(other))
    for references in ({"must_include": [reference]}, {"exact_match": reference}):
        found = REPAIRED.evaluate(string_task(references), answered(frame.format(other)))
        assert found.verdict is Verdict.FAILED


positive = st.integers(1, 99_999).map(str)


@given(positive, st.sampled_from(["1{}", "{}1", "0.{}", "{}.5", "v{}", "{}x24", "1/{}/2023"]))
def test_a_number_inside_something_longer_never_passes(number, frame):
    task = string_task({"must_include": [number]})
    found = REPAIRED.evaluate(task, answered(frame.format(number)))
    assert found.verdict is Verdict.FAILED


@given(st.integers(1000, 10**9))
def test_thousands_separators_do_not_matter(number):
    found = REPAIRED.evaluate(string_task({"must_include": [str(number)]}), answered(f"{number:,}"))
    assert found.verdict is Verdict.PASSED


@given(st.integers(1, 500), st.integers(0, 59), st.integers(-90, 90))
def test_durations_are_equal_to_the_minute(hours, minutes, off_by):
    task = string_task({"must_include": [f"{hours}h {minutes}min"]})
    total = hours * 60 + minutes
    assert REPAIRED.evaluate(task, answered(f"{total} minutes")).verdict is Verdict.PASSED
    if off_by:
        wrong = REPAIRED.evaluate(task, answered(f"{total + off_by} minutes"))
        assert wrong.verdict is Verdict.FAILED


@given(st.dates(), st.dates())
def test_days_are_equal_in_any_spelling(day, other):
    assume(day.year >= 1000)
    task = string_task({"must_include": [day.isoformat()]})
    spellings = [f"{day:%B} {day.day}, {day.year}", f"{day.month}/{day.day}/{day.year}"]
    for spelling in spellings:
        assert REPAIRED.evaluate(task, answered(spelling)).verdict is Verdict.PASSED
    if day != other and other.year >= 1000:
        wrong = REPAIRED.evaluate(task, answered(f"{other:%B} {other.day}, {other.year}"))
        assert wrong.verdict is Verdict.FAILED


names = st.from_regex(r"[A-Z][a-z]{3,8} [A-Z][a-z]{3,8}", fullmatch=True)
REFUSALS = [
    "It is not {}",
    "It isn't {}.",
    "Maybe {}",
    "It might be {}.",
    "{} or Somebody Else",
    "{}x",
]


@given(names, st.sampled_from(REFUSALS))
def test_a_name_that_is_not_asserted_never_passes(name, frame):
    for references in ({"must_include": [name]}, {"exact_match": name}):
        found = REPAIRED.evaluate(string_task(references), answered(frame.format(name)))
        assert found.verdict is Verdict.FAILED


@given(names, st.sampled_from(["{}", "{}.", "The customer is {}.", "**{}**", "“{}”", "- {}"]))
def test_a_name_in_any_frame_passes(name, frame):
    for references in ({"must_include": [name]}, {"exact_match": name}):
        found = REPAIRED.evaluate(string_task(references), answered(frame.format(name)))
        assert found.verdict is Verdict.PASSED


segments = st.lists(st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True), min_size=1, max_size=4)


@given(segments, st.sampled_from(["", "/", "/more", "#note", "?q=1", "/?q=1"]))
def test_a_page_at_or_below_the_reference_passes(path, tail):
    url = f"http://localhost:8023/{'/'.join(path)}"
    assert REPAIRED.evaluate(url_task(url), ended_at(url + tail)).verdict is Verdict.PASSED


@given(segments, st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True))
def test_a_sibling_page_never_passes(path, more):
    url = f"http://localhost:8023/{'/'.join(path)}"
    assert REPAIRED.evaluate(url_task(url), ended_at(url + more)).verdict is Verdict.FAILED


@settings(max_examples=300, deadline=None)
@given(references, intents, texts, urls, urls, SETS, st.sampled_from(sorted(ALL_RULES)))
def test_only_rules_that_were_asked_about_can_change_a_verdict(
    refs, intent, answer, wanted, url, rules, toggled
):
    task = everything(refs, intent, wanted)
    pages = (answer, "47")
    outcome = MatchOutcome(answer=answer, final_url=url, pages=pages)
    found, consulted = RepairedMatcher(rules=rules).evaluate_recording(task, outcome)
    explained = RepairedMatcher(rules=rules).evaluate(task, outcome)
    assert (found.verdict, found.judge_calls) == (explained.verdict, explained.judge_calls)
    if toggled not in consulted:
        other, _ = RepairedMatcher(rules=rules ^ {toggled}).evaluate_recording(task, outcome)
        assert other.verdict == found.verdict
