"""What instructions leave open is found by the matcher, and patches are held against it."""

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.evaluators.matching.outcome import Matcher, MatchOutcome, MatchTask, Verdict
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from judging.evaluators.matching.task_data.ambiguity import (
    REFUSAL,
    AskedTask,
    find_ambiguities,
    sentence,
)
from judging.evaluators.matching.task_data.auditing import (
    ACCEPTED,
    answer_items,
    audit_entry,
    right_outcome,
    with_hosts,
    wrong_outcomes,
)
from judging.evaluators.matching.task_data.spellings import (
    date_of,
    in_words,
    minutes_of,
    of_date,
    of_duration,
    of_name,
    of_number,
    of_person,
)


def spec_of(*types: str, **answers: Any) -> dict[str, Any]:
    return {"eval_types": list(types or ["string_match"]), "reference_answers": answers or None}


def asked(goal: str, number: str = "1", group: str = "", **answers: Any) -> AskedTask:
    return AskedTask(id=number, goal=goal, spec=spec_of(**answers), group=group)


def found(*tasks: AskedTask) -> dict[str, tuple[str, str]]:
    return {each.task: (each.rule, each.words) for each in find_ambiguities(tasks)}


# Other spellings


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("7 min", 7), ("1h 5min", 65), ("1h 44min.", 104), ("20 minutes", 20), ("2 hours", 120)],
)
def test_durations_are_read(text, minutes):
    assert minutes_of(text) == minutes


@pytest.mark.parametrize("text", ["", "h", "min", "7", "7 miles", "a 7 min walk", "7 min 3"])
def test_what_is_no_duration_is_none(text):
    assert minutes_of(text) is None


@pytest.mark.parametrize(
    "text", ["March 11th 2023", "March 11, 2023", "Mar 11 2023", "3/11/2023", "3/11/23"]
)
def test_dates_are_read(text):
    assert date_of(text) == date(2023, 3, 11)


@pytest.mark.parametrize("text", ["", "2023", "13/13/2023", "March", "11 apples", "3/11"])
def test_what_is_no_date_is_none(text):
    assert date_of(text) is None


@given(st.integers(0, 999))
def test_numbers_in_words_are_all_different(number):
    others = {in_words(other) for other in range(1000) if other != number}
    assert in_words(number) not in others
    assert re.fullmatch(r"[a-z]+(?:[ -][a-z]+)*", in_words(number))


@given(st.integers(0, 10_000))
def test_a_duration_is_the_same_in_every_spelling(minutes):
    clock, seconds = of_duration(f"{minutes // 60}h {minutes % 60}min")
    hours, rest, _ = clock.text.split(":")
    assert 60 * int(hours) + int(rest) == minutes
    assert int(seconds.text.removesuffix(" seconds")) == 60 * minutes


@given(st.dates(date(1970, 1, 1), date(2050, 1, 1)))
def test_a_date_is_the_same_in_every_spelling(day):
    first, other = of_date(f"{day:%B} {day.day} {day.year}")
    assert first.text == day.isoformat()
    assert other.text == f"{day.day}/{day.month}/{day.year}"


def test_spellings_of_names():
    texts = {each.how: each.text for each in of_name("Café-bar™ A & B's 65 cm 16x24")}
    assert texts == {
        "without the trademark sign": "Café-bar A & B's 65 cm 16x24",
        "without accents": "Cafe-bar™ A & B's 65 cm 16x24",
        "with a word for &": "Café-bar™ A and B's 65 cm 16x24",
        "without a blank before the unit": "Café-bar™ A & B's 65cm 16x24",
        "with blanks around x": "Café-bar™ A & B's 65 cm 16 x 24",
        "with typographic apostrophes": "Café-bar™ A & B’s 65 cm 16x24",
    }
    assert [each.text for each in of_name("Flat Rate - Fixed")] == ["Flat Rate (Fixed)"]
    assert [each.text for each in of_person("Jane Smith")] == ["Smith, Jane"]
    assert list(of_name("plain")) == list(of_person("Jane")) == []


def test_spellings_of_numbers_are_never_rounded():
    assert [each.text for each in of_number("365.42")] == ["365,42"]
    assert [each.text for each in of_number("25")] == ["twenty-five"]
    assert list(of_number("12 apples")) == list(of_number("123456")) == []


# What is found


@pytest.mark.parametrize(
    ("goal", "answers", "rule"),
    [
        ("How long is the walk?", {"fuzzy_match": ["7 min"]}, "duration"),
        ("Compare both", {"fuzzy_match": ["driving: 2min", "walking: 1h 5min"]}, "duration"),
        ("When was it?", {"fuzzy_match": ["3/2/22"]}, "date"),
        ("How many are there?", {"must_include": ["351"]}, "count"),
        ("What is the total cost?", {"must_include": ["36.39"]}, "amount"),
        ("What is the price range?", {"must_include": ["1.46", "85"]}, "amount"),
        ("Which states border it?", {"must_include": ["Ohio", "New York"]}, "state"),
        ("Extract the relevant sentences.", {"must_include": ["It's bad"]}, "quotation"),
        ("Check if it is closed", {"fuzzy_match": ["No, it is open"]}, "yes_or_no"),
        ("Which customer is it?", {"must_include": ["Jane Smith"]}, "person"),
        ("What is the colour?", {"exact_match": "Green-vines"}, "spelling"),
    ],
)
def test_a_form_that_is_left_open_is_found(goal, answers, rule):
    task = asked(goal, **answers)
    (ambiguity,) = find_ambiguities([task])
    assert ambiguity.rule == rule
    assert ambiguity.words.endswith(".")
    for item in answer_items(task.spec or {}):
        assert item.lower() not in ambiguity.words.lower()
    repaired = AskedTask(id="1", goal=goal + sentence(goal, ambiguity.words), spec=task.spec)
    audit = audit_entry(
        "1", {"goal": goal, "spec": task.spec}, {"goal": repaired.goal, "spec": task.spec}
    )
    assert audit.problems == []
    assert audit.outcomes > 6


@pytest.mark.parametrize(
    ("goal", "answers"),
    [
        ("How many are there? Answer with the number alone.", {"must_include": ["351"]}),
        ("Which customer is it? Return the name.", {"must_include": ["Jane Smith"]}),
        ("What is its id?", {"must_include": ["WS08"]}),
        ("What is the order number of my order?", {"must_include": ["170"]}),
        ("Why do they like it?", {"fuzzy_match": ["It's comfortable"]}),
        ("What is it?", {"must_include": []}),
        ("Is it there?", {"fuzzy_match": "N/A"}),
    ],
)
def test_what_is_stated_or_has_one_spelling_is_left_alone(goal, answers):
    assert find_ambiguities([asked(goal, **answers)]) == []


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"eval_types": "string_match"},
        {"eval_types": ["string_match"], "reference_answers": ["a"]},
        {"eval_types": ["string_match"], "reference_answers": {"must_include": [1, None]}},
        {"eval_types": ["string_match"], "reference_answers": {"must_include": {"a": 1}}},
        {"eval_types": ["string_match"], "reference_answers": {"must_include": "x" * 5000}},
        {"eval_types": ["string_match"], "reference_answers": {"must_include": ["a"] * 5000}},
        {"eval_types": ["string_match"], "reference_answers": {"of_another_kind": ["Jane Smith"]}},
        {"eval_types": ["other"], "reference_answers": {"must_include": ["Jane Smith"]}},
    ],
)
def test_of_a_malformed_specification_nothing_is_said(spec):
    task = AskedTask(id="1", goal="Which customer is it?", spec=spec)
    assert find_ambiguities([task]) == []


def test_how_to_report_that_there_is_none_is_said_in_all_tasks_of_a_template():
    tasks = [
        asked("Who is it, A?", "1", "t", must_include=["Jo"]),
        asked("Who is it, B?", "2", "t", fuzzy_match="N/A"),
        asked("Who is it, C?", "3", "t", must_include=["Jane Smith"]),
        AskedTask(id="4", goal="Open D", group="t", spec=spec_of("url_match")),
        asked("Who is it, E?", "5", "u", fuzzy_match="N/A"),
    ]
    said = found(*tasks)
    assert said["1"] == said["2"] == said["4"] == ("refusal", REFUSAL)
    assert said["3"][0] == "person+refusal"
    assert said["3"][1].endswith(REFUSAL)
    assert "5" not in said, "where no task can be done, the words would be the answer"


@pytest.mark.parametrize(
    ("goal", "whole"),
    [
        ("What is it?", "What is it? Write."),
        ("What is it", "What is it? Write."),
        ("Show it", "Show it. Write."),
        ('Show "it."', 'Show "it." Write.'),
        ("Show it ", "Show it (Write.)"),
        ("How much? I kept one", "How much? I kept one. Write."),
    ],
)
def test_words_become_a_sentence_of_their_own(goal, whole):
    assert goal + sentence(goal, "Write.") == whole


# Outcomes made of specifications, and audits

NAMES_OF = st.lists(
    st.text(alphabet=st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"]), min_size=3),
    min_size=1,
    max_size=4,
    unique_by=str.lower,
)


@given(NAMES_OF, st.sampled_from(["must_include", "exact_match"]))
def test_the_matchers_tell_right_from_wrong(names, kind):
    spec = spec_of(**{kind: names if kind == "must_include" else names[0]})
    for name in NAMES:
        matcher = build_matcher(name)

        def verdict(outcome: MatchOutcome, matcher: Matcher = matcher) -> Verdict:
            return matcher.evaluate(MatchTask(evaluation=spec, intent="Which?"), outcome).verdict

        assert verdict(right_outcome(spec)) in ACCEPTED
        for answer in ("", "I could not find it."):
            assert verdict(MatchOutcome(answer=answer)) is Verdict.FAILED


def test_right_and_wrong_outcomes_of_pages_and_addresses():
    spec = with_hosts(
        {
            "eval_types": ["url_match", "program_html"],
            "reference_answers": None,
            "reference_url": "__SHOPPING__/a |OR| __SHOPPING__/b",
            "url_note": "GOLD in PRED",
            "program_html": [
                {"url": "last", "locator": "", "required_contents": {"exact_match": "1"}},
                {"url": "last", "locator": "", "required_contents": {"must_include": ["x", "y"]}},
            ],
        }
    )
    right = right_outcome(spec)
    assert (right.final_url, right.pages) == ("http://shopping.test/a", ("1", "x\ny"))
    wrong = [what for what, _ in wrong_outcomes(spec)]
    assert wrong == ["another page", "an empty page 1", "an empty page 2"]
    opened = {"goal": "Open it", "spec": spec}
    assert audit_entry("1", opened, opened).problems == []


def content(goal: str = "Which customer is it?", **answers: Any) -> dict[str, Any]:
    return {"goal": goal, "spec": spec_of(**answers), "infeasible_reason": ""}


def test_a_patch_that_takes_the_reference_away_is_found():
    audit = audit_entry("1", content(must_include=["Jane Smith"]), content(must_include=[]))
    assert any("the answer '' passes" in each for each in audit.problems)


def test_a_patch_that_says_the_answer_is_found():
    told = content("Which customer is it? It is Jane Smith.", must_include=["Jane Smith"])
    audit = audit_entry("1", content(must_include=["Jane Smith"]), told)
    assert audit.problems == ["the instruction now says 'Jane Smith', which is the answer"]
    both = content("Is it? Answer yes or no.", exact_match="Yes")
    assert audit_entry("1", content("Is it?", exact_match="Yes"), both).problems == []


def test_a_reference_that_says_less_is_shown_as_looser():
    before = content(must_include=["Jane Smith", "Brian Doe"])
    audit = audit_entry("1", before, content(must_include=["Jane Smith"]))
    assert audit.problems == []
    assert "webarena-strict: another text for part 2 passes" in audit.loosened


def test_a_repaired_reference_is_newly_right():
    audit = audit_entry("1", content(exact_match="Jnae Smith"), content(exact_match="Jane Smith"))
    assert audit.newly_right == list(NAMES)
    assert audit.problems == []


def test_of_an_infeasible_task_nothing_is_judged():
    gone = content(must_include=[]) | {"infeasible_reason": "The place is gone."}
    assert audit_entry("1", content(must_include=["a"]), gone).outcomes == 0
