"""The parts of a prompt that may be cut, the history among them, and the budget of each."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import accumulate

from webagent.agents.generic.knowledge import KnowledgeWriter, framed
from webagent.agents.generic.page import Interest, cut_tree
from webagent.agents.generic.request import Example, HistoryWords
from webagent.agents.settings import KNOWLEDGE_TOKENS, AgentSettings
from webagent.llm.budget import count_tokens, fitting
from webagent.llm.untrusted import filled, visible
from webagent.trajectory.live import Observation, Taken
from webagent.trajectory.records import Box, Json

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
    """Note how the last action went, which the page after it shows."""
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
    thought = _short(turn.thought, LONGEST_THOUGHT)
    return f"{filled(words.thought_line, step=turn.step, text=thought)}\n{action}"


def _action(turn: Turn, words: HistoryWords) -> str:
    if turn.action is None:
        return filled(words.no_action_line, step=turn.step)
    line = words.failed_line if turn.failed else words.action_line
    return filled(line, step=turn.step, text=_short(turn.action, LONGEST_ACTION))


def flat(text: str) -> str:
    """The text in one line, with everything in it to be seen: no turn can write another one's."""
    return " ".join(visible(text).split())


def _short(text: str, longest: int) -> str:
    line = flat(text)
    return line if len(line) <= longest else f"{line[:longest]}…"


PAGE_SHARE = 0.6
"""Of what is left beside goal, actions and examples, the page gets at least so much."""
STABLE_SHARE = 6
"""Tips, knowledge and examples may each have a sixth of the prompt, so that half is left."""

_ACTED_ON = re.compile(r"""^\s*\w+\(\s*(?:'\w*'|"\w*")?""")
_TEXT = re.compile(r"""'[^']*'|"[^"]*\"""")


@dataclass(frozen=True, slots=True)
class Parts:
    """The texts of one prompt that may be cut. An empty one is left out."""

    tips: str = ""
    knowledge: str = ""
    examples: str = ""
    history: str = ""
    tabs: str = ""
    error: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class Caps:
    """How many tokens each part may have at most, in the order in which they are cut."""

    page: int
    history: int
    examples: int
    tabs: int
    knowledge: int
    tips: int
    error: int

    def less(self, tokens: int) -> Caps:
        """The caps with so many tokens less, taken from the first parts that have any."""
        left = tokens
        shares: dict[str, int] = {}
        for name, cap in asdict(self).items():
            taken = min(cap, left)
            shares[name] = cap - taken
            left -= taken
        return Caps(**shares)


class PartsWriter:
    """Tells the parts of one agent's prompts, each within its cap."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._words = settings.wording.words
        self._knowledge = KnowledgeWriter(settings.knowledge) if settings.knowledge else None
        tips = visible(settings.tips).strip()
        # The same at every step, and long to measure.
        self._tips = cache(lambda tokens: fitting(tips, tokens))

    def knowledge_given(self) -> Json | None:
        """How much of its web knowledge the last prompt held; None without any."""
        if self._knowledge is None:
            return None
        return self._knowledge.given(self._settings.knowledge_tokens)

    def caps(self, observation: Observation, turns: Sequence[Turn], left: int, stable: int) -> Caps:
        """Share out the budget: short parts first, the page last with a guaranteed minimum.

        Args:
            left: beside goal, actions and replies sent back.
            stable: the same for any step of the run, by which the parts of the system prompt
                are cut: it stays the same then, as providers' caches want it.
        """
        settings, share = self._settings, stable // STABLE_SHARE
        error = min(settings.error_tokens, left // 4)
        tips = min(settings.tips_tokens, share)
        knowledge = self._knowledge_cap(stable) if self._knowledge else 0
        tabs = min(settings.tabs_tokens, left // 8)
        taken = Caps(0, 0, share, tabs, knowledge, tips, error)
        parts = self.parts(observation, (), taken)
        told_first = (parts.tips, parts.knowledge, parts.examples, parts.tabs, parts.error)
        left = max(0, left - sum(map(count_tokens, told_first)))
        page = min(settings.page_tokens, left, count_tokens(visible(observation.axtree)) + 64)
        if not settings.sees_tree:
            page = 0
        assured = min(page, int(left * PAGE_SHARE))
        history = min(settings.history_tokens, max(0, left - assured))
        told = count_tokens(history_text(turns, history, self._words))
        return replace(taken, history=history, page=max(0, min(page, left - told)))

    def _knowledge_cap(self, stable: int) -> int:
        """A knowledge budget above the default may take half of the prompt."""
        budget = self._settings.knowledge_tokens
        if budget is None:
            return stable - stable // 4
        return min(budget, stable // (2 if budget > KNOWLEDGE_TOKENS else STABLE_SHARE))

    def parts(self, observation: Observation, turns: Sequence[Turn], caps: Caps) -> Parts:
        """The texts, as they are shown, so that what is counted is what is sent."""
        settings, words = self._settings, self._words
        tabs = "\n".join(
            f"{'*' if tab.active else '-'} {number}: {flat(tab.title or '')} ({flat(tab.url)})"
            for number, tab in enumerate(observation.tabs)
        )
        page = knowledge = ""
        if settings.sees_tree and caps.page:
            page = cut_tree(
                visible(observation.axtree),
                caps.page,
                _interest(observation, turns),
                words.page_left_out,
            )
        if self._knowledge is not None:
            knowledge = framed(self._knowledge.block(observation.goal, caps.knowledge).text)
        return Parts(
            tips=self._tips(caps.tips),
            knowledge=knowledge,
            examples=self._examples(caps.examples),
            history=history_text(turns, caps.history, words),
            tabs=fitting(tabs, caps.tabs),
            error=fitting(visible(observation.last_error or ""), caps.error),
            page=page,
        )

    def _examples(self, tokens: int) -> str:
        """As many as are wanted, of actions that are allowed, whole, within so many tokens."""
        names = {action.name for action in self._settings.allowed}
        usable = [
            example
            for example in self._words.example
            if example.action.partition("(")[0] in names
            and bool(example.page) == (self._settings.sees_tree or self._settings.marks)
        ]
        shown: list[str] = []
        for number, example in enumerate(usable[: self._settings.examples], start=1):
            shown.append(self._example(number, example))
            if count_tokens("\n".join(shown)) > tokens:
                shown.pop()
                break
        return "\n".join(shown)

    def _example(self, number: int, example: Example) -> str:
        if self._settings.reply == "json":
            reply = json.dumps({"thought": example.thought, "action": example.action})
        else:
            reply = f"<thought>{example.thought}</thought>\n<action>{example.action}</action>"
        shown = example.page.strip() or f"(a picture: {example.picture})"
        return f"\nExample {number}. Goal: {example.goal}\n{shown}\nReply:\n{reply}"


def _interest(observation: Observation, turns: Sequence[Turn]) -> Interest:
    """What the goal and the last turn name, what has the focus, and what the window shows."""
    last = next((turn.action for turn in turns[-1:] if turn.action), "")
    named = {
        node.bid
        for node in observation.nodes
        if node.bid and (f"'{node.bid}'" in last or f'"{node.bid}"' in last)
    }
    focused = {observation.focused} if observation.focused else set()
    focused |= {node.bid for node in observation.nodes if node.bid and node.has("focused")}
    seen = {bid for bid, box in observation.boxes.items() if is_in_view(box, observation)}
    return Interest(
        texts=(observation.goal, _action_text(last)),
        bids=frozenset(named | focused),
        in_view=frozenset(seen),
    )


def is_in_view(box: Box, observation: Observation) -> bool:
    """Whether the window shows any of it."""
    return (
        box.x < observation.width
        and box.y < observation.height
        and box.x + box.width > 0
        and box.y + box.height > 0
    )


def _action_text(action: str) -> str:
    """What the action typed or chose: neither its name nor its element is a word of a page."""
    return " ".join(_TEXT.findall(_ACTED_ON.sub("", action)))
