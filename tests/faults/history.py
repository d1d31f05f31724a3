"""What clients asked and were answered, and whether what is stored now bears it out.

In the manner of Jepsen: clients record every call and its answer in one order while something
breaks; afterwards the history is compared with what is there. Pure: it knows no database.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Answer(StrEnum):
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """No answer, or one that does not say: it may have happened, once."""


class Kind(StrEnum):
    """What a call promises when it is done."""

    ADD = "add"
    """Its value is there exactly once, for good."""
    SET = "set"
    """Its value is there until a later call replaces it."""
    FIRST = "first"
    """Only one call of its key is ever done, and its value stays."""


@dataclass(slots=True)
class Call:
    """One call of one client; `asked` and `answered` are places in the order of the history."""

    client: str
    kind: Kind
    key: str
    value: str
    asked: int
    answered: int | None = None
    answer: Answer = Answer.UNKNOWN


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that must never be; `what` is one word for it."""

    what: str
    key: str
    words: str

    def __str__(self) -> str:
        return f"{self.what} {self.key}: {self.words}"


class History:
    """The calls of all clients in one order; clients may be threads."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.states: list[tuple[str, str]] = []
        """What was seen of rows on the way: key and state, in order."""
        self._order = 0
        self._lock = threading.Lock()

    def ask(self, client: str, kind: Kind, key: str, value: str) -> Call:
        """Note a call before it is made."""
        with self._lock:
            self._order += 1
            call = Call(client, kind, key, value, asked=self._order)
            self.calls.append(call)
            return call

    def answer(self, call: Call, answer: Answer) -> None:
        """Note what came back."""
        with self._lock:
            self._order += 1
            call.answered, call.answer = self._order, answer

    def see(self, key: str, state: str) -> None:
        """Note a state that somebody saw."""
        with self._lock:
            self.states.append((key, state))

    def count(self, answer: Answer) -> int:
        return sum(call.answer is answer for call in self.calls)


@dataclass(frozen=True)
class Afterwards:
    """What is there when all is over."""

    values: Mapping[str, Iterable[str]]
    """By key, every value that is stored, as often as it is."""
    states: Mapping[str, str] = field(default_factory=dict)
    """The last state of everything that must come to an end."""
    blobs_named: frozenset[str] = frozenset()
    blobs_stored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rules:
    """Which states may follow which, and which are ends."""

    successors: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ends: frozenset[str] = frozenset()

    def reachable(self, state: str) -> frozenset[str]:
        """The state itself and all that may follow, at once or later: lookers miss states."""
        found, waiting = {state}, [state]
        while waiting:
            new = self.successors.get(waiting.pop(), frozenset()) - found
            found |= new
            waiting += new
        return frozenset(found)


def problems(history: History, after: Afterwards, rules: Rules | None = None) -> list[Problem]:
    """Everything in which the history and what is there contradict each other.

    `what` is one of: lost, doubled, refused but there, never asked, twice first, stale, illegal
    state, not ended, orphan blob, missing blob, disorder.
    """
    rules = rules or Rules()
    found = [*_disorder(history)]
    keys = {call.key for call in history.calls} | set(after.values)
    for key in sorted(keys):
        calls = [call for call in history.calls if call.key == key]
        stored = Counter(after.values.get(key, ()))
        kinds = {call.kind for call in calls}
        if len(kinds) > 1:
            found.append(Problem("disorder", key, "calls of several kinds"))
        elif kinds == {Kind.SET}:
            found += _register(key, calls, stored)
        elif kinds == {Kind.FIRST}:
            found += _first(key, calls, stored)
        else:
            found += _set(key, calls, stored)
    return [*found, *_states(history, after, rules), *_blobs(after)]


def _disorder(history: History) -> Iterable[Problem]:
    for call in history.calls:
        if call.answered is not None and call.answered <= call.asked:
            yield Problem("disorder", call.key, "answered before it was asked")
        if call.answered is None and call.answer is not Answer.UNKNOWN:
            yield Problem("disorder", call.key, "an answer without its place")


def _set(key: str, calls: list[Call], stored: Counter[str]) -> Iterable[Problem]:
    """Values that are added: what was done is there, and nothing is there twice."""
    answers: dict[str, set[Answer]] = {}
    for call in calls:
        answers.setdefault(call.value, set()).add(call.answer)
    yield from _counted(key, answers, stored)


def _counted(
    key: str, answers: Mapping[str, set[Answer]], stored: Counter[str]
) -> Iterable[Problem]:
    for value, given in answers.items():
        times = stored[value]
        if Answer.DONE in given and not times:
            yield Problem("lost", key, f"{value!r} was acknowledged and is not there")
        if times > 1:
            yield Problem("doubled", key, f"{value!r} is there {times} times")
        if given == {Answer.REFUSED} and times:
            yield Problem("refused but there", key, f"{value!r} was refused")
    for value in stored.keys() - answers.keys():
        yield Problem("never asked", key, f"nobody asked for {value!r}")


def _register(key: str, calls: list[Call], stored: Counter[str]) -> Iterable[Problem]:
    """A value that is replaced: what is there is not older than what was acknowledged."""
    done = [call for call in calls if call.answer is Answer.DONE]
    if stored.total() > 1:
        yield Problem("doubled", key, f"{stored.total()} values at once")
    if not stored:
        if done:
            yield Problem("lost", key, f"{done[-1].value!r} was acknowledged and nothing is there")
        return
    for value in stored:
        writers = [call for call in calls if call.value == value]
        if not writers:
            yield Problem("never asked", key, f"nobody asked for {value!r}")
        elif all(call.answer is Answer.REFUSED for call in writers):
            yield Problem("refused but there", key, f"{value!r} was refused")
        elif all(_replaced(call, done) for call in writers):
            yield Problem("stale", key, f"{value!r} was replaced by an acknowledged write")


def _replaced(call: Call, done: Iterable[Call]) -> bool:
    """Whether an acknowledged write began only after this one had been answered."""
    if call.answer is Answer.REFUSED:
        return True
    ended = call.answered if call.answer is Answer.DONE else None
    return ended is not None and any(
        other.asked > ended for other in done if other.value != call.value
    )


def _first(key: str, calls: list[Call], stored: Counter[str]) -> Iterable[Problem]:
    """A decision: one at most is done, and it is the one that is there."""
    done = {call.value for call in calls if call.answer is Answer.DONE}
    if len(done) > 1:
        yield Problem("twice first", key, f"{len(done)} were told that they were first")
    if stored.total() > 1:
        yield Problem("doubled", key, f"{stored.total()} are there")
    answers: dict[str, set[Answer]] = {}
    for call in calls:
        answers.setdefault(call.value, set()).add(call.answer)
    once: Counter[str] = Counter(dict.fromkeys(stored, 1))
    yield from _counted(key, answers, once)


def _states(history: History, after: Afterwards, rules: Rules) -> Iterable[Problem]:
    last: dict[str, str] = {}
    for key, state in [*history.states, *after.states.items()]:
        before = last.get(key)
        if before is not None and state not in rules.reachable(before):
            yield Problem("illegal state", key, f"{state} after {before}")
        last[key] = state
    for key, state in after.states.items():
        if state not in rules.ends:
            yield Problem("not ended", key, f"is {state}")


def _blobs(after: Afterwards) -> Iterable[Problem]:
    for name in sorted(after.blobs_stored - after.blobs_named):
        yield Problem("orphan blob", name, "no row names it")
    for name in sorted(after.blobs_named - after.blobs_stored):
        yield Problem("missing blob", name, "a row names it")
