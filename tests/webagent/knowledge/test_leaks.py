"""Whatever belongs to a run is found in a summary, and what belongs to the site is not."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webagent.knowledge.logs import copies, hours, step
from webagent.knowledge.entries import LogStep, RunLog
from webagent.knowledge.leaks import INTERFACE, LeakKind, leaks, literals_of

LITERALS = literals_of([copies(), hours()], more=["the filter button (a47) does nothing"])

GENERAL = (
    "Open the catalogue from the menu and type into its search field.",
    "Clicking the heading does nothing: the list stays as it was.",
    "Wait until the results have loaded, then open the first row.",
    "Use the Catalogue link; the Welcome page has no search of its own.",
    "Opening a record by its number fails; search by title instead.",
    "A message says that the book is reserved once it is.",
)


@pytest.mark.parametrize("text", GENERAL)
def test_general_words_are_no_leak(text: str):
    assert leaks(text, LITERALS) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Click on A187 to open it.", LeakKind.ELEMENT),
        ("Use the button a47.", LeakKind.ELEMENT),
        ("The link (a901) opens it.", LeakKind.ELEMENT),
        ("click('q7') works", LeakKind.ELEMENT),
        ("fill(“77”, “x”) works", LeakKind.ELEMENT),
        ("the element with bid 903", LeakKind.ELEMENT),
        ("the field with id=search-box", LeakKind.ELEMENT),
        ("as in step 15", LeakKind.STEP),
        ("Open inc0000026.", LeakKind.VALUE),
        ("There are 2 of them.", LeakKind.VALUE),
        ("Search for The Salt Road.", LeakKind.VALUE),
        ("Search for salt road calder.", LeakKind.VALUE),
        ("Search for the  SALT\nROAD there.", LeakKind.VALUE),
        ("Books by Calder are in it.", LeakKind.VALUE),
        ("Books by INES are in it.", LeakKind.VALUE),
        ("Look into the north wing.", LeakKind.VALUE),
        ("Ask at tidewater.", LeakKind.VALUE),
        ("Go to http://elsewhere.test/.", LeakKind.ADDRESS),
        ("Write to help@library.test first.", LeakKind.ADDRESS),
    ],
)
def test_what_belongs_to_a_run_is_found(text: str, kind: LeakKind):
    assert kind in {leak.kind for leak in leaks(text, LITERALS)}


def test_what_two_tasks_share_belongs_to_the_site():
    shown = RunLog(
        run="run-3", task="shelves", goal="Show the shelves.", steps=(step(0, labels=("Calder",)),)
    )
    again = RunLog(
        run="run-4", task="rooms", goal="Show the rooms.", steps=(step(0, labels=("Calder",)),)
    )
    assert leaks("Open Calder.", literals_of([copies()])) != []
    assert leaks("Open Calder.", literals_of([copies(), shown])) != []
    assert leaks("Open Calder.", literals_of([copies(), shown, again])) == []


def test_texts_without_spaces_are_found_anywhere():
    log = RunLog(
        run="r",
        task="t",
        goal="「営業部」の予定を開いてください。",
        steps=(step(0, "fill('1', '田中一郎')", bids=("1",), typed=("田中一郎",)),),
    )
    known = literals_of([log])
    assert leaks("まず営業部を選ぶ。", known) != []
    assert leaks("検索欄に田中一郎と入れる。", known) != []
    assert leaks("検索欄に名前を入れる。", known) == []


words = st.text(string.ascii_lowercase, min_size=3, max_size=9)
own_words = words.filter(lambda word: word not in INTERFACE)
tokens = st.from_regex(r"[a-z]{0,3}[0-9]{1,6}", fullmatch=True)
values = st.one_of(
    tokens,
    own_words,
    st.lists(own_words, min_size=2, max_size=9).map(" ".join),
    st.dates().map(str),
    st.decimals(0, 10_000, places=2).map(str),
)
cases = st.sampled_from([str, str.upper, str.title])
surroundings = st.sampled_from(
    ["{}", "Open {} first.", "({})", "“{}”", "it says:{}", "the one,{},that fails", "{}'s"]
)


def typing(value: str, place: str) -> RunLog:
    """A run that has the value in one of the places where values come from."""
    goals = {"goal": f'Please find "{value}" there.', "slug": "Find it."}
    given: dict[str, LogStep] = {
        "typed": step(0, f"fill('7', {value!r})", bids=("7",), typed=(value,)),
        "slug": step(0, url=f"http://site.test/?q=one+{value.replace(' ', '+')}"),
    }
    steps = (given[place],) if place in given else ()
    return RunLog(run="r", task="t", goal=goals.get(place, "Find it."), steps=steps)


@settings(deadline=None, max_examples=80)
@given(values, st.sampled_from(["typed", "goal"]), cases, surroundings)
def test_planted_values_are_always_found(value: str, place: str, case: object, around: str):
    known = literals_of([typing(value, place), hours()])
    text = around.format(case(value))  # type: ignore[operator]
    assert leaks(text, known), text


@settings(deadline=None, max_examples=80)
@given(tokens, cases, surroundings)
def test_planted_ids_are_always_found(bid: str, case: object, around: str):
    log = RunLog(
        run="r", task="t", goal="Find it.", steps=(step(0, f"click('{bid}')", bids=(bid,)),)
    )
    text = around.format(case(bid))  # type: ignore[operator]
    assert leaks(text, literals_of([log])), text


@settings(deadline=None, max_examples=80)
@given(st.lists(st.sampled_from(sorted(INTERFACE)), min_size=1, max_size=12), values)
def test_words_of_interfaces_are_never_leaks(text: list[str], value: str):
    known = literals_of([typing(value, "typed"), copies(), hours()])
    found = leaks(" ".join(text), known)
    assert all(leak.text not in INTERFACE for leak in found)
    assert not found


@settings(deadline=None, max_examples=80)
@given(st.lists(own_words, min_size=1, max_size=10), values)
def test_words_that_no_run_has_are_never_leaks(text: list[str], value: str):
    log = typing(value, "typed")
    unknown = [word for word in text if word not in value]
    assert leaks(" ".join(unknown), literals_of([log])) == []
