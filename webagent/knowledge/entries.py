"""What is learned from runs, and the log of a run that learning sees.

What a log holds is what this file writes into it. Reward, outcome, evaluations, labels and the
way a run ended are no parts of it, so nothing that is learned can rest on them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from webagent.llm.untrusted import bounded, visible
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.records import ActionRecord, Observation, StepRecord, StepState

LONGEST_TEXT = 2000


class Entry(BaseModel):
    """One piece of knowledge. `ok` may be empty: nobody has found the way yet."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intent: str = Field(min_length=1, max_length=LONGEST_TEXT)
    ok: str = Field(default="", max_length=LONGEST_TEXT)
    ng: str = Field(min_length=1, max_length=LONGEST_TEXT)

    @property
    def text(self) -> str:
        """The entry as agents read it."""
        lines = [f"- {_flat(self.intent)}"]
        lines += [f"  Works: {_flat(self.ok)}"] if self.ok.strip() else []
        return "\n".join([*lines, f"  Does not work: {_flat(self.ng)}"])


class RawEntry(Entry):
    """An entry as it was extracted, with the steps that it came from."""

    run: str
    steps: tuple[int, ...] = ()


class SummarisedEntry(Entry):
    """An entry that stands for others: `sources` are their places in what was summarised."""

    sources: tuple[int, ...] = Field(min_length=1)


def hash_of(entries: Iterable[Entry]) -> str:
    """SHA-256 (hex) of what agents would read of these entries, in their order."""
    words = [[entry.intent, entry.ok, entry.ng] for entry in entries]
    return json_digest({"entries": words})


def _flat(text: str) -> str:
    return " ".join(text.split())


class Level(StrEnum):
    """How far a hint is from the run that it was written from."""

    CONCRETE = "concrete"
    ABSTRACT = "abstract"
    INSIGHTS = "insights"


class Relatedness(StrEnum):
    """How near the source of a hint is to the task that gets it."""

    SAME_TASK = "same_task"
    """The very same: an upper bound, since what it tells is the solution."""
    SAME_SITE_HIGHEST = "same_site_highest"
    SAME_SITE_LOWEST = "same_site_lowest"
    OTHER_SITE_LOWEST = "other_site_lowest"


LONGEST_THOUGHT = 500
LONGEST_ACTION = 400
LONGEST_LOG = 60_000
"""Characters; beyond it the middle is left out, and said to be."""
_WRITING_NOTHING = frozenset({"press", "keyboard_press", "keyboard_down", "keyboard_up", "goto"})
"""Actions whose texts are keys or addresses."""
_SAYING = frozenset({"send_msg_to_user", "report_infeasible"})
_OPTIONS = frozenset({"button", "modifiers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStep:
    """One step. `labels` are the words on what was acted on, `typed` what the agent wrote or chose,
    `said` what it told the user.

    `changed`: whether the page looked otherwise afterwards; None where nobody knows, and in the
    last step where it did not: a solved task often leaves its page unchanged, so "no effect" there
    would reveal the reward.
    """

    index: int
    action: str
    labels: tuple[str, ...] = ()
    bids: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    url: str = ""
    title: str = ""
    thought: str = ""
    error: str = ""
    changed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """A run to learn from. `task` tells tasks apart, `run` the runs."""

    run: str
    task: str
    goal: str
    site: str = ""
    steps: tuple[LogStep, ...] = ()

    @property
    def text(self) -> str:
        """The goal and everything that happened, line by line."""
        lines = [f"Task: {' '.join(self.goal.split())}"]
        lines += [line for step in self.steps for line in _lines(step)]
        return bounded(visible("\n".join(lines)), LONGEST_LOG)


def log_of(
    run: str, task: str, goal: str, steps: Sequence[StepRecord], *, site: str = ""
) -> RunLog:
    """The log of a recorded run. Steps that a rollback took back are left out."""
    live = [step for step in steps if step.state is StepState.LIVE]
    seen_next: list[Observation | None] = [*(step.before for step in live[1:]), None]
    logged = [
        # Where every step was taken back, there is none that an end could follow.
        _step(step, step.after or after)
        for step, after in zip(live, seen_next, strict=False)
    ]
    if logged and not logged[-1].changed:
        logged[-1] = replace(logged[-1], changed=None)
    return RunLog(run=run, task=task, goal=goal, site=site, steps=tuple(logged))


def _step(step: StepRecord, after: Observation | None) -> LogStep:
    before = step.before or Observation()
    targets = [action.target for action in step.actions if action.target]
    bids = [target.bid for target in targets if target.bid]
    return LogStep(
        index=step.index,
        action="; ".join(str(action.raw) for action in step.actions),
        labels=tuple(target.text for target in targets if target.text),
        bids=tuple(bids),
        typed=_written(step, bids, is_said=False),
        said=_written(step, bids, is_said=True),
        url=before.url or "",
        title=before.title or "",
        thought=step.thought or "",
        error="; ".join(action.error for action in step.actions if action.error),
        changed=_changed(before, after),
    )


def _written(step: StepRecord, bids: Sequence[str], *, is_said: bool) -> tuple[str, ...]:
    return tuple(
        text
        for action in step.actions
        if (action.name in _SAYING) == is_said
        for text in _texts(action, bids)
    )


def _texts(action: ActionRecord, bids: Sequence[str]) -> Iterator[str]:
    """Texts that the action wrote, chose or said: all that is no element, key or address."""
    if action.name in _WRITING_NOTHING:
        return
    named = (action.named_args or {}).items()
    for value in (*action.args, *(value for name, value in named if name not in _OPTIONS)):
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text.strip() and text not in bids:
                yield text.strip()


def _changed(before: Observation, after: Observation | None) -> bool | None:
    if after is None:
        return None
    if before.fingerprint and after.fingerprint:
        return before.fingerprint != after.fingerprint
    if before.a11y_tree and after.a11y_tree:
        return before.a11y_tree.sha256 != after.a11y_tree.sha256
    if before.url and after.url and before.url != after.url:
        return True
    return None


def _lines(step: LogStep) -> Iterator[str]:
    yield f"Step {step.index}, on “{step.title}” {step.url}".rstrip()
    if step.thought:
        yield f"  thought: {bounded(' '.join(step.thought.split()), LONGEST_THOUGHT)}"
    on = f" (on “{'”, “'.join(step.labels)}”)" if step.labels else ""
    yield f"  action: {bounded(step.action, LONGEST_ACTION) or 'none'}{on}"
    if step.error:
        yield f"  refused: {bounded(' '.join(step.error.split()), LONGEST_THOUGHT)}"
    elif step.changed is False:
        yield "  the page looked the same afterwards"
    elif step.changed:
        yield "  the page changed"
