"""Summaries: duplicates merged, nothing of the sources told, and what leaks left out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webagent.knowledge.logs import copies, hours
from tests.webagent.llm.scripted import Scripted
from webagent.knowledge.entries import Entry, SummarisedEntry, hash_of
from webagent.knowledge.leaks import LeakKind, literals_of
from webagent.knowledge.web import MOST_IN_A_GROUP, groups_of, merged, summarise

LITERALS = literals_of([copies(), hours()])
NOTES = [
    (0, Entry(intent="Search for 'salt road calder' in b42", ng="Typing changed nothing.")),
    (1, Entry(intent="Search for a book", ok="Press Enter.", ng="Typing alone does nothing.")),
    (2, Entry(intent="Open INC0000026", ng="The click on a401 did nothing.")),
]


def said(*entries: tuple[str, str, list[int]]) -> dict[str, object]:
    return {
        "entries": [
            {"intent": intent, "ok": "", "ng": ng, "sources": sources}
            for intent, ng, sources in entries
        ]
    }


SEARCH = ("Search the catalogue", "Typing alone does nothing.", [0, 1])
OPEN = ("Open a record", "Clicking its row does nothing.", [2])
LEAKING = ("Open inc0000026", "Clicking a401 does nothing.", [2])


def test_a_clean_summary_is_taken_at_once():
    model = Scripted(said(SEARCH, OPEN))
    found = summarise(model, "m", NOTES, LITERALS, site="library")
    assert [entry.sources for entry in found.entries] == [(0, 1), (2,)]
    assert (found.rejected, found.uncovered, found.asks, found.n_redone) == ((), (), 1, 0)


def test_only_what_leaks_is_asked_for_again():
    model = Scripted(said(SEARCH, LEAKING), said(OPEN))
    found = summarise(model, "m", NOTES, LITERALS)
    assert [entry.intent for entry in found.entries] == [SEARCH[0], OPEN[0]]
    assert (found.rejected, found.asks, found.n_redone) == ((), 2, 1)
    assert "'inc0000026'" in model.last
    assert "'a401'" in model.last
    assert "Search the catalogue" not in model.last


def test_what_leaks_to_the_end_is_left_out_and_reported():
    model = Scripted(said(SEARCH, LEAKING), said(LEAKING), said(LEAKING))
    found = summarise(model, "m", NOTES, LITERALS)
    [kept], [rejected] = found.entries, found.rejected
    assert kept.intent == SEARCH[0]
    assert rejected.entry.intent == LEAKING[0]
    assert {leak.text for leak in rejected.leaks} == {"inc0000026", "a401"}
    assert LeakKind.ELEMENT in {leak.kind for leak in rejected.leaks}
    assert found.uncovered == ()


def test_a_rewrite_that_goes_wrong_leaves_what_was_good():
    model = Scripted(said(SEARCH, LEAKING), "no", "no")
    found = summarise(model, "m", NOTES, LITERALS)
    assert [entry.intent for entry in found.entries] == [SEARCH[0]]
    assert len(found.rejected) == 1


def test_notes_that_no_entry_stands_for_are_told():
    model = Scripted(said(SEARCH))
    assert summarise(model, "m", NOTES, LITERALS).uncovered == (2,)


def test_sources_must_be_there():
    model = Scripted(said((*SEARCH[:2], [7])), said(SEARCH, OPEN))
    assert len(summarise(model, "m", NOTES, LITERALS).entries) == 2
    assert "sources that are no notes: [7]" in model.last


def test_entries_that_say_the_same_become_one():
    one = SummarisedEntry(intent="Search the catalogue", ng="Typing does nothing.", sources=(1,))
    same = one.model_copy(update={"intent": "search the Catalogue!", "sources": (3, 0)})
    other = one.model_copy(update={"ng": "The list is cut off at the bottom.", "sources": (2,)})
    assert [entry.sources for entry in merged([one, same, other])] == [(0, 1, 3), (2,)]


intents = st.lists(
    st.sampled_from(["open the menu", "sort the list", "search a book", "log in", "close it"]),
    min_size=1,
    max_size=90,
)


@settings(deadline=None, max_examples=80)
@given(intents)
def test_groups_hold_every_entry_once_and_the_alike_together(found: list[str]):
    entries = [Entry(intent=intent, ng="no") for intent in found]
    groups = groups_of(entries)
    assert sorted(place for group in groups for place in group) == list(range(len(entries)))
    assert max(map(len, groups)) <= MOST_IN_A_GROUP
    assert groups == groups_of(entries)


def test_duplicates_meet_in_one_group():
    alike = [Entry(intent="sort the list of orders", ng="no")] * 2
    others = [
        Entry(intent=f"thing number{place} quite alone{place}", ng="no") for place in range(60)
    ]
    groups = groups_of([alike[0], *others, alike[1]])
    assert any({0, 61} <= set(group) for group in groups)


def test_a_hash_tells_contents_apart():
    entry = Entry(intent="a", ok="b", ng="c")
    assert hash_of([entry]) == hash_of([entry.model_copy()])
    assert hash_of([entry]) != hash_of([entry, entry])
    assert hash_of([entry]) != hash_of([entry.model_copy(update={"ok": ""})])
