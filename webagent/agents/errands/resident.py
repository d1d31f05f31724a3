"""A scripted resident of Larkfield: goes where the answer is, and says it in a style.

It answers from what the page shows, so the way it puts an answer is the only thing that
differs between styles. That is what makes it useful: a right answer in a sentence shows what
a strict matcher misses, a careless one what it lets through.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby

from pydantic import validate_call

from webagent.agents.errands.errand import Errand, Lines, Move
from webagent.agents.errands.town import FORUM, LIBRARY, MAP, SHOP
from webagent.agents.scripted import Scripted, action_on, taken_by
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord

WAIT = "noop(500)"
ERRANDS = LIBRARY | SHOP | FORUM | MAP
"""By words that stand in one goal alone."""


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
            self._done += made.action != WAIT
            return made
        return Decision(
            action=f"send_msg_to_user({self._answer(errand, observation)!r})",
            thought="I have what was asked for.",
            finished=True,
        )

    def resume_from(self, history: Sequence[Taken]) -> None:
        """The moves that are still made count."""
        self._done = taken_by(
            "resident", [step for step in history if step.decision.action != WAIT]
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
    roles = {"link", "button"} if move.text is None else {"textbox", "combobox"}
    for node in observation.nodes:
        if node.bid and node.role in roles and node.name == move.name:
            action = action_on(node, move.text)
            return Decision(action=action, thought=f"Next is {move.name!r}.")
    return Decision(action=WAIT, thought=f"{move.name!r} is not on this page yet; I wait for it.")
