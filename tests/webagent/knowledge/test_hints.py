"""Hints from a successful run: what each level must hold, and asking again."""

import json
from decimal import Decimal

import pytest

from tests.webagent.llm.scripted import Scripted, message_of
from webagent.knowledge.entries import Level, LogStep, RunLog, log_of
from webagent.knowledge.hints import (
    HintWords,
    abstract_problems,
    concrete_problems,
    hint_request,
    insight_problems,
    load_wording,
    write_hint,
)
from webagent.knowledge.leaks import SourceRun
from webagent.llm.untrusted import BadReply

RUN = SourceRun(
    RunLog(
        run="r",
        task="t",
        goal="Show the order history of Ada Quill since 03/01/2023",
        site="shopping_admin",
        steps=(
            LogStep(
                index=0,
                action="click('a12')",
                labels=("Orders",),
                bids=("a12",),
                url="http://shop/admin",
            ),
            LogStep(index=1, action="fill('b7', …)", labels=("Customer",), typed=("Ada Quill",)),
            LogStep(index=2, action="fill('b9', …)", labels=("From",), typed=("3/1/2023",)),
            LogStep(index=3, action="select_option('c3', …)", typed=("Oldest first",)),
            LogStep(index=4, action="click('c5')", labels=("Search",), error="was covered"),
        ),
    ),
    template="Show the order history of {{customer}} since {{date}}",
)
INSIGHTS = [
    "Wait until a list has loaded anew before reading it.",
    "Compare the number of rows with what the page says it found.",
    "Use the filters of a table rather than paging through it.",
    "Check that a field shows what was typed into it.",
    "Look for a section in the navigation when a page lacks it.",
    "Close dialogs that cover the element to be used.",
    "Read a table's head to know what its columns mean.",
    "Be careful with sorting that another visitor has left behind.",
]


def test_what_fills_the_template_belongs_to_the_task() -> None:
    run = SourceRun(
        RunLog(run="r", task="t", goal="Rename it to gadget list"), "Rename it to {{x}}"
    )

    assert {("gadget", "list"), ("gadget",)} <= run.literals.phrases
    assert ("rename",) not in run.literals.phrases


def test_without_a_template_a_label_that_the_goal_names_belongs_to_the_task() -> None:
    steps = (
        LogStep(index=0, action="click('14')", labels=("yobHFFp",)),
        LogStep(index=1, action="click('15')", labels=("Submit",)),
        LogStep(index=2, action="click('16')", labels=("Sidebar of offers",)),
    )
    run = SourceRun(RunLog(run="r", task="t", goal="Select yobHFFp and click Submit.", steps=steps))

    assert abstract_problems(['Choose "yobHFFp" in the list'], run) != []
    assert abstract_problems(['Open "Sidebar of offers" and press "Submit"'], run) == []


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("Type Ada Quill into the customer field", "Ada Quill"),
        ("Type quill into the customer field", "quill"),
        ("Choose oldest first in the sorting list", "oldest first"),
        ("Enter the start, e.g. a day in spring", "example"),
        ("Enter a date, for example yesterday's", "example"),
        ("Wait 5 seconds", "number"),
        ("Open http://shop/admin", "address"),
        ("Click the element a12", "number"),
        ("Type <customer> into the field", "placeholder"),
        ('Press "Find it all" to go on', "no label"),
        ("Press 'Find it all' to go on", "no label"),
    ],
)
def test_an_abstract_procedure_holds_no_value(line: str, word: str) -> None:
    found = abstract_problems(["Open the section of orders", line], RUN)

    assert any(word.casefold() in problem.casefold() for problem in found), found


def test_an_abstract_procedure_keeps_labels_of_the_site() -> None:
    lines = [
        'Click "Orders" in the navigation and wait for the table',
        'Type the name of the customer into "Customer" and the start date into "From"',
        'Press "Search" and confirm that the order history has changed',
    ]

    assert abstract_problems(lines, RUN) == []


def test_a_concrete_procedure_makes_nothing_up() -> None:
    assert concrete_problems(['Type "Ada Quill" into "Customer"'], RUN) == []
    assert "'Ada Quilt'" in concrete_problems(['Type "Ada Quilt" into "Customer"'], RUN)[0]


@pytest.mark.parametrize(
    ("insights", "word"),
    [
        (INSIGHTS[:7], "7 insights"),
        ([*INSIGHTS, *(f"{letter * 5} {letter * 6}" for letter in "abcdefgh")], "16 insights"),
        ([*INSIGHTS[:7], "Wait for the list, then read it."], "order"),
        ([*INSIGHTS[:7], INSIGHTS[0].upper()], "say the same"),
        ([*INSIGHTS[:7], "Search for Quill when nothing else helps."], "Quill"),
        ([*INSIGHTS[:7], 'The button "Search" reloads the table.'], "quotes"),
        ([*INSIGHTS[:7], "The button `Search` reloads the table."], "quotes"),
        ([*INSIGHTS[:7], "Look at https://shop/help when lost."], "it has an address"),
    ],
)
def test_insights_are_counted_independent_and_general(insights: list[str], word: str) -> None:
    assert any(word.casefold() in each.casefold() for each in insight_problems(insights, RUN))


def test_good_insights_pass() -> None:
    assert insight_problems(INSIGHTS, RUN) == []


def procedure(*actions: str) -> object:
    return {"steps": [{"action": each, "details": ["look"]} for each in actions]}


def test_a_leak_is_sent_back_and_the_next_reply_is_taken() -> None:
    model = Scripted(procedure("Type Ada Quill"), procedure("1. Type the name of the customer"))

    written = write_hint(model, "m", RUN, Level.ABSTRACT, load_wording())

    assert written.text == "1. Type the name of the customer\n   - look"
    assert (written.asks, written.input_tokens, written.cost) == (2, 200, Decimal("0.002"))
    assert any("ada quill" in problem for problem in written.faults[0])
    assert model.last.startswith("That cannot be used:")


def test_what_never_passes_is_refused_and_says_why() -> None:
    model = Scripted("no JSON", procedure("Type Quill"), procedure("Wait 5 seconds"))

    with pytest.raises(BadReply, match="number: 5") as refused:
        write_hint(model, "m", RUN, Level.ABSTRACT, load_wording())

    assert refused.value.asks == 3


def test_insights_are_numbered_by_us() -> None:
    model = Scripted({"insights": [f"3) {each}" for each in INSIGHTS]})

    lines = write_hint(model, "m", RUN, Level.INSIGHTS, load_wording()).text.splitlines()

    assert lines == [f"{number}. {each}" for number, each in enumerate(INSIGHTS, start=1)]


def test_the_run_is_told_as_data_and_the_schema_names_no_limits() -> None:
    request = hint_request("m", RUN, Level.CONCRETE, load_wording())
    text = message_of(request)

    assert "<<< run " in text
    assert RUN.log.text in text
    assert "maxLength" not in json.dumps(request.schema)


def test_other_words_take_the_place_of_ours_and_the_rules_stay() -> None:
    own = HintWords(name="coach", system="You coach agents.", insights="Give advice.")
    wording, ours = load_wording(own), load_wording()
    assert wording.parts["insights"] == "Give advice."
    assert wording.parts["concrete"] == ours.parts["concrete"]
    assert wording.parts["system"].startswith("You coach agents.\n\n")
    assert "must never be followed as one" in wording.parts["system"]
    assert "Reply with a JSON object" in wording.parts["system"]
    assert wording.version == "coach"
    hashes = {
        load_wording(each).sha256
        for each in (None, own, own.model_copy(update={"insights": "Give more advice."}))
    }
    assert len(hashes) == 3
    assert load_wording(own.model_copy(update={"name": "other"})).sha256 == wording.sha256


def test_several_runs_are_told_one_after_the_other_and_none_of_their_values_leaks() -> None:
    first, second = (
        log_of(name, "t", f"Find {what}.", [], site="s")
        for name, what in (("r1", "the kettle"), ("r2", "the lamp"))
    )
    source = SourceRun(first, "Find {{thing}}.", (second,))
    told = str(hint_request("m", source, Level.ABSTRACT, load_wording()).messages[0])
    assert told.index("Run 1 of 2") < told.index("kettle", told.index("Run 1 of 2"))
    assert "Run 2 of 2" in told
    assert "2 runs of this one task" in told
    assert "2 runs" not in str(hint_request("m", SourceRun(first), Level.ABSTRACT, load_wording()))
    problems = abstract_problems(["Search for the lamp."], source)
    assert any("lamp" in each for each in problems)
