"""What the agent thought and did, within a number of tokens: the oldest part shrinks first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from webagent.agents.generic.wording import HistoryWords, filled
from webagent.llm.tokens import count_tokens
from webagent.llm.untrusted import visible
from webagent.trajectory.live import Observation, Taken

LONGEST_ACTION = 300
LONGEST_THOUGHT = 2000
"""Characters of one, in the history."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of the agent's. `failed`: the browser could not carry the action out."""

    step: int
    action: str | None
    thought: str | None = None
    failed: bool = False


def turns_of(history: Sequence[Taken]) -> list[Turn]:
    """The turns that these steps are, whoever took them."""
    return [
        Turn(step, taken.decision.action, taken.decision.thought, taken.error is not None)
        for step, taken in enumerate(history)
    ]


def learn(turns: list[Turn], observation: Observation) -> None:
    """Know how the last action went, which only the page after it tells."""
    if observation.last_error and turns and turns[-1].action is not None:
        turns[-1] = replace(turns[-1], failed=True)


def remember(turns: list[Turn], action: str | None, thought: str | None) -> None:
    """Take a further turn."""
    step = turns[-1].step + 1 if turns else 0
    turns.append(Turn(step, action, thought))


def history_text(turns: Sequence[Turn], tokens: int, words: HistoryWords) -> str:
    """The turns within so many tokens; empty if there are none, or nothing fits.

    First the thoughts of the oldest turns go, then their actions, behind a note of how many.
    """
    if not turns:
        return ""
    full = [_turn_text(turn, words) for turn in turns]
    actions = [_action(turn, words) for turn in turns]
    # Each with the line break that joins it to what follows.
    full_costs = [count_tokens(text) + 1 for text in full]
    action_costs = [count_tokens(text) + 1 for text in actions]
    before = [0, *accumulate(action_costs)]
    after = [sum(full_costs), *(sum(full_costs) - cost for cost in accumulate(full_costs))]
    for n_short in range(len(turns) + 1):
        if before[n_short] + after[n_short] <= tokens:
            return "\n".join((*actions[:n_short], *full[n_short:]))
    for n_gone in range(1, len(turns)):
        note = filled(words.history_left_out, count=n_gone)
        if count_tokens(note) + 1 + before[-1] - before[n_gone] <= tokens:
            return "\n".join((note, *actions[n_gone:]))
    note = filled(words.history_left_out, count=len(turns))
    return note if count_tokens(note) <= tokens else ""


def _turn_text(turn: Turn, words: HistoryWords) -> str:
    action = _action(turn, words)
    if not turn.thought:
        return action
    thought = _line(turn.thought, LONGEST_THOUGHT)
    return f"{filled(words.thought_line, step=turn.step, text=thought)}\n{action}"


def _action(turn: Turn, words: HistoryWords) -> str:
    if turn.action is None:
        return filled(words.no_action_line, step=turn.step)
    line = words.failed_line if turn.failed else words.action_line
    return filled(line, step=turn.step, text=_line(turn.action, LONGEST_ACTION))


def _line(text: str, longest: int) -> str:
    """The text in one line, so that no turn can write another one's."""
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= longest else f"{flat[:longest]}…"
