"""Web knowledge: raw entries from one run's log, and few general ones in place of many.

Raw entries are put into groups of alike ones, each summarised at one go. An entry of the summary
that holds an id or a value of the sources is rejected and asked for again, a few times; what then
still leaks is left out and reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from webagent.knowledge.entries import LONGEST_TEXT, Entry, RawEntry, RunLog, SummarisedEntry
from webagent.knowledge.leaks import Leak, Literals, leaks, words_in
from webagent.knowledge.relevance import Relevance, share_in_common
from webagent.llm.interface import LanguageModel, Request
from webagent.llm.untrusted import (
    MAX_ASKS,
    BadReply,
    Conversation,
    Wording,
    marked_block,
    read_wording,
    visible,
    word_outside,
)

FOLDER = Path(__file__).parent / "knowledge_prompts"
VERSION = "1"


def load_wording() -> Wording:
    """The prompts that knowledge is asked for with."""
    return read_wording(VERSION, FOLDER)


EXTRACTION_TOKENS = 4096
MOST_ENTRIES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What one run taught. `n_without_ng` entries were dropped, since nothing went wrong there."""

    entries: tuple[RawEntry, ...]
    n_without_ng: int
    asks: int


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    intent: str = Field(min_length=1, max_length=LONGEST_TEXT)
    ok: str = Field(max_length=LONGEST_TEXT)
    ng: str = Field(max_length=LONGEST_TEXT)
    steps: list[int]


class _Extraction(BaseModel):
    model_config = ConfigDict(extra="forbid")

    entries: list[_Entry] = Field(max_length=MOST_ENTRIES)


def extraction_request(model: str, log: RunLog, wording: Wording) -> Request:
    """The question that a run's knowledge is asked for with."""
    text = log.text
    mark = word_outside((text, log.site), "extract")
    words = wording.filled(
        "extract", mark=mark, site=visible(log.site) or "?", log=marked_block("log", mark, text)
    )
    return wording.request(model, words, _Extraction, "web_knowledge", EXTRACTION_TOKENS)


def extract(model: LanguageModel, name: str, log: RunLog) -> Extracted:
    """The knowledge in a run's log, each entry with steps of the log that it rests on.

    Args:
        name: of the model, in the registry.

    Raises:
        BadReply: the model gave nothing of the form, or named steps that do not exist.
        ModelFailure: the model gave no reply.
    """
    wording = load_wording()
    asked = Conversation(model, extraction_request(name, log, wording), wording)
    entries = asked.reply(_Extraction, lambda reply: _problems(reply.entries, log)).entries
    kept = tuple(
        RawEntry(
            intent=entry.intent.strip(),
            ok=entry.ok.strip(),
            ng=entry.ng.strip(),
            run=log.run,
            steps=tuple(sorted(set(entry.steps))),
        )
        for entry in entries
        if entry.ng.strip()
    )
    return Extracted(entries=kept, n_without_ng=len(entries) - len(kept), asks=asked.asks)


def _problems(entries: Sequence[_Entry], log: RunLog) -> list[str]:
    known = {step.index for step in log.steps}
    found = []
    for number, entry in enumerate(entries, start=1):
        if unknown := sorted(set(entry.steps) - known):
            found.append(f"entry {number} names steps that are not in the log: {unknown[:10]}")
        if entry.ng.strip() and not entry.steps:
            found.append(f"entry {number} names no steps")
        if not entry.intent.strip():
            found.append(f"entry {number} has no intent")
    return found


SUMMARY_TOKENS = 8192
MOST_IN_A_GROUP = 30
MOST_CHARACTERS = 30_000
TOO_ALIKE = 0.85
"""Share of words from which on two intents are taken for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """An entry that kept telling what it must not, with that."""

    entry: SummarisedEntry
    leaks: tuple[Leak, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    """What came of a group. `uncovered`: places of raw entries that no entry stands for."""

    entries: tuple[SummarisedEntry, ...]
    rejected: tuple[Rejected, ...] = ()
    uncovered: tuple[int, ...] = ()
    asks: int = 0
    n_redone: int = 0
    """How many entries were sent back for their leaks."""


class _SummarisedEntry(BaseModel):
    __qualname__ = "_Entry"  # in the schema, and so in the request by which a reply is kept
    model_config = ConfigDict(extra="forbid")

    intent: str = Field(min_length=1, max_length=LONGEST_TEXT)
    ok: str = Field(max_length=LONGEST_TEXT)
    ng: str = Field(min_length=1, max_length=LONGEST_TEXT)
    sources: list[int] = Field(min_length=1)

    def summarised(self) -> SummarisedEntry:
        return SummarisedEntry(
            intent=self.intent.strip(),
            ok=self.ok.strip(),
            ng=self.ng.strip(),
            sources=tuple(sorted(set(self.sources))),
        )


class _Summary(BaseModel):
    model_config = ConfigDict(extra="forbid")

    entries: list[_SummarisedEntry] = Field(min_length=1)


def groups_of(entries: Sequence[Entry]) -> list[list[int]]:
    """Places of the entries in groups of alike ones; the same entries give the same groups.

    Entries of the same words end up in one group, so that they can be merged.
    """
    relevance = Relevance([entry.intent for entry in entries])
    left = dict.fromkeys(range(len(entries)))
    groups: list[list[int]] = []
    while left:
        first = next(iter(left))
        near = [place for place, _ in relevance.best(entries[first].intent, len(entries))]
        group: list[int] = []
        size = 0
        for place in dict.fromkeys((first, *near, *left)):
            length = len(entries[place].text)
            if place not in left:
                continue
            if group and (len(group) == MOST_IN_A_GROUP or size + length > MOST_CHARACTERS):
                break
            group.append(place)
            size += length
            del left[place]
        groups.append(sorted(group))
    return groups


def summary_request(
    model: str, entries: Sequence[tuple[int, Entry]], site: str, wording: Wording
) -> Request:
    """The question that a summary is asked for with. Entries are named by the numbers given."""
    notes = "\n\n".join(
        f"Note {number}\nintent: {visible(entry.intent)}\nok: {visible(entry.ok) or '(nothing)'}\n"
        f"ng: {visible(entry.ng)}"
        for number, entry in entries
    )
    mark = word_outside((notes, site), "summarise")
    words = wording.filled(
        "summarise", mark=mark, site=visible(site) or "?", notes=marked_block("notes", mark, notes)
    )
    return wording.request(model, words, _Summary, "web_knowledge_summary", SUMMARY_TOKENS)


def summarise(
    model: LanguageModel,
    name: str,
    entries: Sequence[tuple[int, Entry]],
    literals: Literals,
    *,
    site: str = "",
) -> Summarised:
    """A summary of the entries in which nothing leaks, and what had to be left out of it.

    Args:
        entries: each with the number that `sources` name it by.
        literals: what the runs behind the entries must not lend to a summary.

    Raises:
        BadReply: the model gave nothing of the form.
        ModelFailure: the model gave no reply.
    """
    wording = load_wording()
    asked = Conversation(model, summary_request(name, entries, site, wording), wording)
    known = {number for number, _ in entries}
    good: list[SummarisedEntry] = []
    bad: list[Rejected] = []
    n_redone = 0
    while True:
        try:
            reply = asked.reply(_Summary, lambda reply: _unknown_sources(reply.entries, known))
        except BadReply:
            if not good:
                raise
            break  # What was good before stays; what was sent back is left out.
        written = [form.summarised() for form in reply.entries]
        checked = [(entry, tuple(leaks_of(entry, literals))) for entry in written]
        good += [entry for entry, found in checked if not found]
        bad = [Rejected(entry=entry, leaks=found) for entry, found in checked if found]
        if not bad or asked.asks >= MAX_ASKS:
            break
        n_redone += len(bad)
        asked.object_to([_reason_text(rejected) for rejected in bad], "again")
    good = merged(good)
    told = {number for entry in (*good, *(each.entry for each in bad)) for number in entry.sources}
    return Summarised(
        entries=tuple(good),
        rejected=tuple(bad),
        uncovered=tuple(sorted(known - told)),
        asks=asked.asks,
        n_redone=n_redone,
    )


def merged(entries: Sequence[SummarisedEntry]) -> list[SummarisedEntry]:
    """The entries without those that say the same as an earlier one, whose sources they join."""
    kept: list[SummarisedEntry] = []
    for entry in entries:
        for place, other in enumerate(kept):
            if _say_the_same(entry, other):
                both = tuple(sorted({*other.sources, *entry.sources}))
                kept[place] = other.model_copy(update={"sources": both})
                break
        else:
            kept.append(entry)
    return kept


def leaks_of(entry: Entry, literals: Literals) -> list[Leak]:
    """What the entry tells of its sources that it must not."""
    return leaks(f"{entry.intent}\n{entry.ok}\n{entry.ng}", literals)


def _reason_text(rejected: Rejected) -> str:
    sources = ", ".join(map(str, rejected.entry.sources))
    return f"The entry with the sources {sources} has {'; '.join(map(str, rejected.leaks))}."


def _unknown_sources(entries: Sequence[_SummarisedEntry], known: set[int]) -> list[str]:
    return [
        f"entry {number} names sources that are no notes: {unknown[:10]}"
        for number, entry in enumerate(entries, start=1)
        if (unknown := sorted(set(entry.sources) - known))
    ]


def _say_the_same(one: Entry, other: Entry) -> bool:
    pairs = ((one.intent, other.intent), (f"{one.ok}\n{one.ng}", f"{other.ok}\n{other.ng}"))
    return bool(words_in(one.intent)) and all(
        share_in_common(words_in(text), words_in(others)) >= TOO_ALIKE for text, others in pairs
    )
