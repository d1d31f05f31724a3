"""Scripted people of Larkfield.

A resident goes where the answer is, and says it in a style. It answers from what the page shows, so
the way it puts an answer is the only thing that differs between styles. That is what makes it
useful: a right answer in a sentence shows what a strict matcher misses, a careless one what it lets
through.

A visitor goes by the words of the goal, and by the tips it is given. It knows no page and believes
what it is told: it does tip after tip as long as the page has what they name. A tip that fits shows
it a way that the goal's words do not, and one that does not fit leads it astray. Left to itself, it
takes a form that is filled for one that is sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from pydantic import validate_call

from webagent.agents.errands.town import ERRANDS, Errand, Lines, Move
from webagent.agents.scripted import Scripted, action_on, taken_by
from webagent.trajectory.axtree import Node, subtree
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord
from webagent.trajectory.texts import quoted

_CONTROLS = frozenset({"link", "button"})
_FIELDS = frozenset({"textbox", "combobox"})
_WAIT = "noop(500)"


class Style(StrEnum):
    """How the answer is put: the bare value, within a sentence, or read off carelessly."""

    PLAIN = "plain"
    SENTENCE = "sentence"
    CARELESS = "careless"


class Resident(Scripted):
    """Serves one of the errands it knows; gives up on anything else.

    Args:
        style: how it puts its answers.
    """

    @validate_call
    def __init__(self, style: Style = Style.PLAIN) -> None:
        self.style = style
        self._done = 0

    def act(self, observation: Observation) -> Decision:
        """The next move on the way, or the answer at its end."""
        errand = next((e for text, e in ERRANDS.items() if text in observation.goal), None)
        if errand is None:
            return Decision(
                action=None, thought="I do not know how to do this.", gave_up=True, finished=True
            )
        way = errand.way
        if self.style is Style.CARELESS and errand.careless_way is not None:
            way = errand.careless_way
        if self._done < len(way):
            made = _make(way[self._done], observation)
            self._done += made.action != _WAIT
            return made
        return Decision(
            action=f"send_msg_to_user({self._answer(errand, observation)!r})",
            thought="I have what was asked for.",
            finished=True,
        )

    def resume_from(self, history: Sequence[Taken]) -> None:
        """The moves that are still made count."""
        self._done = taken_by(
            "resident", [step for step in history if step.decision.action != _WAIT]
        )

    def describe(self) -> AgentRecord:
        return self.record("resident", {"style": self.style.value})

    def _answer(self, errand: Errand, observation: Observation) -> str:
        lines = page_lines(observation)
        if self.style is Style.CARELESS:
            return errand.careless(lines)
        answer = errand.read(lines)
        return errand.sentence.format(answer) if self.style is Style.SENTENCE else answer


def page_lines(observation: Observation) -> Lines:
    """The visible texts of the page in reading order, each once where nodes repeat it."""
    texts = filter(None, (node.name.strip() for node in observation.nodes))
    return tuple(text for text, _again in groupby(texts))


def _make(move: Move, observation: Observation) -> Decision:
    roles = _CONTROLS if move.text is None else _FIELDS
    for node in observation.nodes:
        if node.bid and node.role in roles and node.name == move.name:
            action = action_on(node, move.text)
            return Decision(action=action, thought=f"Next is {move.name!r}.")
    return Decision(action=_WAIT, thought=f"{move.name!r} is not on this page yet; I wait for it.")


_TIP = re.compile(r"^\d+\. (?:(Click)|Type into|Select in) (.+)$", re.MULTILINE)
_SENDS = re.compile(r"\bform\b.*\bbutton\b", re.IGNORECASE)
_WORD = re.compile(r"\w{4,}")
"""Shorter ones say nothing of what a goal is about."""
_SAID = {
    "From": re.compile(r"\bfrom the (.+?) to\b"),
    "To": re.compile(r"\bto the (.+?)(?: by\b|\.?$)"),
    "Street": re.compile(r"\bto (\d.+?)\.?$"),
    "Text": re.compile(r"\bsays (.+?)\.?$"),
    "Title": re.compile(r"\btitle (.+?)(?: that says\b|\.?$)"),
    "Your answer": re.compile(r": (.+?)\.?$"),
}
"""How goals say what belongs in a field, by its label."""
_DONE = Decision(
    action="send_msg_to_user('It is done.')", thought="That must be all.", finished=True
)


@dataclass(frozen=True, slots=True)
class _Tip:
    """One line of a procedure. Without a name, it is whatever fits the goal."""

    roles: frozenset[str]
    name: str | None


class Visitor(Scripted):
    """Does as its tips say; where it has none that fit, goes by the words of the goal.

    Args:
        hints: the set that its tips come from; empty for none.
    """

    @validate_call
    def __init__(self, hints: str = "") -> None:
        self._hints = hints
        self.advise("")

    def advise(self, tips: str) -> None:
        self._text = tips
        found = [
            _Tip(_CONTROLS if click else _FIELDS, next(iter(quoted(what)), None))
            for click, what in _TIP.findall(tips)
        ]
        self._tips: list[_Tip] | None = found or None
        """Those that are left; None where it goes its own way."""
        self._sends = bool(_SENDS.search(tips))
        self._used: frozenset[str] = frozenset()
        self._has_filled = False

    def act(self, observation: Observation) -> Decision:
        """The next tip, unless the page has nothing of the kind; its own way from there on."""
        page = _Page(observation, self._used)
        if self._tips is not None:
            if not self._tips:
                return _DONE
            tip, *rest = self._tips
            if node := page.named(tip.roles, tip.name) if tip.name else page.fitting(tip.roles):
                self._tips = rest
                return self._use(page, node, "So I was told.")
            self._tips = None
        return self._own_way(page)

    def resume_from(self, history: Sequence[Taken]) -> None:
        """It decides alike whenever it sees the same."""
        self.advise(self._text)
        for step in history:
            if step.by == "visitor":
                self.act(step.before)

    def describe(self) -> AgentRecord:
        """Without hints there is no word of them."""
        return self.record("visitor", {"hints": self._hints} if self._hints else {})

    def _own_way(self, page: _Page) -> Decision:
        if field := page.fitting(_FIELDS):
            self._has_filled = True
            return self._use(page, field, "The goal says what belongs there.")
        if not self._has_filled:
            control = page.fitting(_CONTROLS)
            return self._use(page, control, "The goal speaks of this.") if control else _DONE
        button = page.fitting(frozenset({"button"})) if self._sends else None
        self._sends = False
        return self._use(page, button, "A form is to be sent.") if button else _DONE

    def _use(self, page: _Page, node: Node, why: str) -> Decision:
        self._used |= {node.name}
        return Decision(action=page.action(node), thought=f"{node.name!r}: {why}")


class _Page:
    """What is on a page, held against the goal."""

    def __init__(self, observation: Observation, used: frozenset[str]) -> None:
        self._goal = observation.goal
        self._nodes = observation.nodes
        self._words = _words(self._goal)
        self._used = used

    def named(self, roles: frozenset[str], name: str) -> Node | None:
        """The element of that name, if there is something to do with it."""
        nodes = (node for node in self._nodes if node.bid and node.role in roles)
        return next((node for node in nodes if node.name == name and self._serves(node)), None)

    def fitting(self, roles: frozenset[str]) -> Node | None:
        """The unused field that the goal fills, or control with most of its words."""
        nodes = [
            node
            for node in self._nodes
            if node.bid and node.role in roles and node.name not in self._used
        ]
        if roles == _FIELDS:
            return next(filter(self._serves, nodes), None)
        best = max(nodes, key=self._shared, default=None)
        return best if best and self._shared(best) else None

    def action(self, node: Node) -> str:
        """What is done with the element."""
        return action_on(node, None if node.role in _CONTROLS else self._value(node))

    def _serves(self, node: Node) -> bool:
        return node.role in _CONTROLS or self._value(node) is not None

    def _value(self, node: Node) -> str | None:
        if node.role == "combobox":
            options = subtree(self._nodes, self._nodes.index(node))
            asked = (each.name for each in options if each.role == "option" and self._shared(each))
            return next(asked, None)
        said = _SAID[node.name].search(self._goal) if node.name in _SAID else None
        return said[1] if said else None

    def _shared(self, node: Node) -> int:
        return len(_words(node.name) & self._words)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
