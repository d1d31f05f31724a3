"""Evaluators that show a whole run to a model."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, TypeVar

from django.conf import settings as site

from judging.evaluators.contract import Finding, ModelEvaluator, finding_of, without_outcome
from judging.evaluators.judges.asking import tokens_of
from judging.evaluators.judges.milestones import MilestoneJudge
from judging.evaluators.judges.shown import (
    Picture,
    ShownSettings,
    StepShown,
    Trajectory,
    as_sent,
    changes_of,
    chosen,
)
from judging.evaluators.judges.whole_run import RunJudge, TrajectoryJudge
from judging.evaluators.milestones import JUDGED, NO_MILESTONES, NO_STEPS, progress_details
from runs.catalogue.milestones.definitions import definitions_of
from runs.models import Blob, Run, Step
from runs.storage.blobs import MissingBlobError, read_blob
from runs.storage.records import action_text
from webagent.environment.placeholders import resolve_text
from webagent.llm.interface import Request
from webagent.trajectory.actions import ActionKind, action_kind
from webagent.trajectory.blobs import ImageError
from webagent.trajectory.records import ActionRecord

OwnRunJudge = TypeVar("OwnRunJudge", bound=RunJudge[Any])

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


class WholeRunEvaluator(ModelEvaluator[OwnRunJudge]):
    """What they share. Runs that did not end by themselves, or took no step, are not judged."""

    def applies_to(self, run: Run) -> bool:
        return run.n_steps > 0

    def evaluate(self, run: Run) -> Finding:
        if (finding := self.unasked(run)) is not None:
            return finding
        trajectory = trajectory_of(run, self.judge.settings)
        if not trajectory.steps:
            return Finding.not_applicable(NO_STEPS)
        shown = {"pictures": [picture.step for picture in trajectory.pictures]}
        return self.found(run, trajectory, shown)

    def estimate(self, run: Run) -> tuple[int, int]:
        if not run.n_steps or self.unasked(run) is not None:
            return 0, 0
        return tokens_of(self.requests(run, trajectory_of(run, self.judge.settings)))

    def unasked(self, run: Run) -> Finding | None:
        """The finding where there is nothing to ask about; None where there is."""
        return without_outcome(run)

    @abstractmethod
    def found(self, run: Run, trajectory: Trajectory, shown: Mapping[str, object]) -> Finding:
        """What the model says of it. `shown` goes into the finding's details."""

    def requests(self, run: Run, trajectory: Trajectory) -> Sequence[Request]:
        """What it is asked, without repair attempts."""
        return self.judge.requests(trajectory)


class MilestoneJudgeEvaluator(WholeRunEvaluator[MilestoneJudge]):
    """Asks a model once about all milestones of a run. Passes where all held at the end.

    Its score is the highest progress of the run, in [0, 1].
    """

    name: ClassVar[str] = JUDGED
    judge_type: ClassVar[type[MilestoneJudge]] = MilestoneJudge

    def applies_to(self, run: Run) -> bool:
        return run.n_steps > 0 and run.task.milestones.in_force().exists()

    def unasked(self, run: Run) -> Finding | None:
        if (finding := without_outcome(run)) is not None:
            return finding
        has_any = run.task.milestones.in_force().exists()
        return None if has_any else Finding.not_applicable(NO_MILESTONES)

    def found(self, run: Run, trajectory: Trajectory, shown: Mapping[str, object]) -> Finding:
        milestones = definitions_of(run.task)
        found = self.judge.judge(trajectory, milestones)
        if found.progress is None:
            return finding_of(found.judged, more=shown)
        details = progress_details(milestones, found.findings, found.progress)
        finding = finding_of(found.judged, more={**shown, **details})
        return replace(finding, score=found.progress.maximum / 100)

    def requests(self, run: Run, trajectory: Trajectory) -> Sequence[Request]:
        return self.judge.requests(trajectory, self.judge.texts_of(definitions_of(run.task)))


class TrajectoryJudgeEvaluator(WholeRunEvaluator[TrajectoryJudge]):
    """Asks a model about the whole run; needs no reference answer."""

    name: ClassVar[str] = "trajectory-judge"
    judge_type: ClassVar[type[TrajectoryJudge]] = TrajectoryJudge

    def found(self, run: Run, trajectory: Trajectory, shown: Mapping[str, object]) -> Finding:
        return finding_of(self.judge.judge(trajectory), more=shown)
