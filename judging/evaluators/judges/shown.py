"""A whole run as judges are shown it: its texts, bounded, and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judging.evaluators.judges.settings import ShownSettings
from webagent.llm.interface import ImagePart, Message, TextPart
from webagent.llm.untrusted import bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    """One step as the judge reads it. `index` is its number in the run's timeline."""

    index: int
    action: str
    target: str = ""
    url: str = ""
    error: str = ""
    thought: str = ""
    is_undone: bool = False
    """On a branch that the agent gave up later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The page before a step, or after it."""

    step: int
    data: bytes
    media_type: str
    is_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What is known of a run to the judge."""

    task: str
    steps: tuple[StepShown, ...]
    pictures: tuple[Picture, ...] = ()
    final_url: str = ""
    answer: str | None = None


def texts_of(trajectory: Trajectory, settings: ShownSettings) -> dict[str, str]:
    """`task`, `steps`, `final_url` and `answer`, bounded and not fenced yet."""
    answer = trajectory.answer if settings.show_answer else None
    steps = shown_steps(trajectory.steps, settings.most_steps)
    lines = [_line(step, settings) for step in steps]
    if left_out := len(trajectory.steps) - len(steps):
        lines.insert(len(steps) // 2, f"[… {left_out} steps left out …]")
    longest = settings.longest_text
    return {
        "task": bounded(trajectory.task, longest),
        "steps": "\n".join(lines) or "(no steps)",
        "final_url": bounded(trajectory.final_url, 500) or "(not recorded)",
        "answer": bounded(answer, longest) if answer else "(none)",
    }


def with_pictures(before: str, pictures: Sequence[Picture], after: str) -> Message:
    """One message: words, the pictures with a line above each, and words."""
    parts: list[TextPart | ImagePart] = [TextPart(before)]
    for picture in pictures:
        place = "after" if picture.is_after else "before"
        parts.append(TextPart(f"Picture: the page {place} step {picture.step}."))
        parts.append(ImagePart(picture.data, picture.media_type))
    parts.append(TextPart(after))
    return Message("user", tuple(parts))


def indices_shown(trajectory: Trajectory, settings: ShownSettings) -> set[int]:
    """The numbers of the steps that are listed."""
    return {step.index for step in shown_steps(trajectory.steps, settings.most_steps)}


def shown_steps(steps: Sequence[StepShown], most: int) -> list[StepShown]:
    """All steps, or the first and last of them, half each."""
    if len(steps) <= most:
        return list(steps)
    return [*steps[: most // 2], *steps[len(steps) - (most - most // 2) :]]


def _line(step: StepShown, settings: ShownSettings) -> str:
    def short(text: str) -> str:
        return " ".join(bounded(text, settings.longest_action).split())

    parts = [f"step {step.index}{' (undone later)' if step.is_undone else ''}:"]
    parts.append(short(step.action) or "no action")
    if step.target:
        parts.append(f"| element: {short(step.target)}")
    if step.url:
        parts.append(f"| page: {short(step.url)}")
    if step.error:
        parts.append(f"| error: {short(step.error)}")
    if step.thought and settings.show_thoughts:
        parts.append(f"| thought: {short(step.thought)}")
    return " ".join(parts)
