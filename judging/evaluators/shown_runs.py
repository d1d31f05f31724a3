"""Stored runs as judges of whole runs are shown them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from django.conf import settings as site

from judging.evaluators.judges.frames import as_sent, changes_of, chosen
from judging.evaluators.judges.settings import ShownSettings
from judging.evaluators.judges.shown import Picture, StepShown, Trajectory
from runs.models import Blob, Run, Step
from runs.storage.blobs import MissingBlobError, read_blob
from runs.storage.records import action_text
from webagent.placeholders import resolve_text
from webagent.trajectory.actions import ActionKind, action_kind
from webagent.trajectory.images import ImageError
from webagent.trajectory.records import ActionRecord

MOST_COMPARED = 200
"""Pictures that are compared to find where the page changed; of longer runs, spread evenly."""
UNSAID = "(not shown)"
"""In place of what the agent tells the user."""


@dataclass(frozen=True, slots=True)
class _Frame:
    step: int
    blob: Blob
    is_after: bool = False


def trajectory_of(run: Run, settings: ShownSettings) -> Trajectory:
    """What of the run is shown under these settings."""
    pictures = ("screenshot__thumbnail", "after_screenshot__thumbnail")
    steps = list(run.steps.select_related(*pictures).order_by("index"))
    return Trajectory(
        task=resolve_text(run.goal or run.task.goal, site.SITE_HOSTS),
        steps=tuple(_shown(step, settings) for step in steps),
        pictures=tuple(_pictures(_frames(steps), settings)),
        final_url=run.final_url or "",
        answer=run.final_answer,
    )


def _pictures(frames: Sequence[_Frame], settings: ShownSettings) -> list[Picture]:
    number, evenly = settings.pictures, settings.selection == "even"
    if not number:
        return []
    if len(frames) > MOST_COMPARED:
        frames = [frames[i] for i in chosen([0.0] * len(frames), MOST_COMPARED, evenly=True)]
    changes = [0.0] * len(frames)
    if not evenly and len(frames) > number:
        changes = changes_of([_small(frame.blob) for frame in frames])
    found = []
    for index in chosen(changes, number, evenly=evenly):
        frame = frames[index]
        try:
            data, media_type = as_sent(read_blob(frame.blob), settings.longest_side)
        except (MissingBlobError, ImageError):
            continue
        found.append(
            Picture(step=frame.step, data=data, media_type=media_type, is_after=frame.is_after)
        )
    return found


def _shown(step: Step, settings: ShownSettings) -> StepShown:
    return StepShown(
        index=step.index,
        action=step.action if settings.show_answer else _without_answer(step),
        target=step.target,
        url=step.url,
        error=step.error,
        thought=step.thought,
        is_undone=step.state == Step.State.SUPERSEDED,
    )


def _without_answer(step: Step) -> str:
    """The step's actions without what they tell the user: the answer stands there once more."""
    actions = [ActionRecord.model_validate(each) for each in step.record.get("actions", ())]
    if all(action_kind(each) is not ActionKind.MESSAGE for each in actions):
        return step.action
    return action_text(tuple(_unsaid(each) for each in actions))


def _unsaid(action: ActionRecord) -> ActionRecord:
    if action_kind(action) is not ActionKind.MESSAGE:
        return action
    raw = action.raw if isinstance(action.raw, str) else ""
    before = raw[: len(raw) - len(raw.lstrip())]
    return action.model_copy(update={"raw": f"{before}{action.name} {UNSAID}"})


def _frames(steps: Sequence[Step]) -> list[_Frame]:
    """The pages before each step, and the one after the last; equal neighbours once."""
    frames = [_Frame(step.index, step.screenshot) for step in steps if step.screenshot]
    if steps and (after := steps[-1].after_screenshot):
        frames.append(_Frame(steps[-1].index, after, is_after=True))
    return [next(equal) for _, equal in groupby(frames, key=lambda frame: frame.blob.pk)]


def _small(blob: Blob) -> bytes:
    """The thumbnail's bytes, or the picture's own; none where they are gone."""
    try:
        return read_blob(blob.thumbnail or blob)
    except MissingBlobError:
        return b""
