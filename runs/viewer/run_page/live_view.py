"""What is new of a run that goes on, for a page that shows it already."""

from __future__ import annotations

from typing import Any, TypedDict

from django.utils import timezone

from runs.models import Run, Step
from runs.viewer.timeline.marks import Final, Mark, end_of, events_shown, marks_of
from runs.viewer.timeline.step_rows import StepRow, step_rows
from runs.viewer.timeline.timeline import PART, TEXT_CHARS, StepTexts, step_texts

ENDED = "ended"


class News(TypedDict):
    """What the script adds to the timeline: steps from `first` on, and states of earlier ones."""

    first: int
    steps: list[StepRow]
    texts: dict[int, StepTexts]
    states: dict[int, str]
    ended: bool
    events: list[Mark]
    final: Final | None


def seen_of(run: Run) -> str:
    """A word for what can be seen of the run now: another one once there is something new."""
    if not run.is_active:
        return ENDED
    heard = run.heartbeat_at.timestamp() if run.heartbeat_at else 0
    cancels = "c" if run.cancel_requested_at else ""
    return f"{run.n_steps}-{heard:.6f}{cancels}"


def live_context(run: Run, *, first: int | None = None) -> dict[str, Any]:
    """What `runs/viewer/_run_live.html` needs; the run is one out of `visible_to`.

    Args:
        first: steps from this one on go with it; None for a page that has all of them.
    """
    silent_s = (timezone.now() - run.heartbeat_at).total_seconds() if run.heartbeat_at else None
    return {
        "run": run,
        "live": {
            "seen": seen_of(run),
            "silent_s": None if silent_s is None else max(int(silent_s), 0),
            "news": None if first is None else _news(run, first),
        },
    }


def _news(run: Run, first: int) -> News:
    """Two queries while the run goes on and no step is new, four when steps are, six at its end."""
    # The step before the new ones has only now got what came after it.
    begin = max(first - 1, 0)
    steps = step_rows(run, begin) if run.n_steps > first or not run.is_active else []
    # Many at once are asked for in parts, when they are looked at.
    texts = step_texts(run, first, PART) if steps else {}
    states = dict(
        run.steps.exclude(state=Step.State.LIVE).order_by("index").values_list("index", "state")
    )
    ended = not run.is_active
    events = events_shown(run) if ended else []
    return News(
        first=begin,
        steps=steps,
        texts=texts,
        states=states,
        ended=ended,
        events=marks_of(run, events, step_rows(run)) if ended else [],
        final=end_of(run, events, TEXT_CHARS) if ended else None,
    )
