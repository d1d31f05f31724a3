"""`trajectory-judge`: whether a stored run fulfilled its task, going by what happened in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from django.conf import settings as site
from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.judged import finding_of
from judging.judges.estimates import tokens_of
from judging.judges.frames import as_sent, changes_of, chosen
from judging.judges.settings import TrajectorySettings
from judging.judges.trajectory import Picture, StepShown, Trajectory, TrajectoryJudge
from judging.matching.outcome import EvaluatorIdentity
from judging.models import EvaluatorVersion
from runs.blobs import MissingBlobError, read_blob
from runs.models import Blob, Run, Step
from runs.placeholders import resolve_text
from webagent.llm.interface import LanguageModel
from webagent.trajectory.images import ImageError

NO_STEPS = gettext_noop("the run has no steps")
MOST_COMPARED = 200
"""Pictures that are compared to find where the page changed; of longer runs, spread evenly."""


@dataclass(frozen=True, slots=True)
class _Frame:
    step: int
    blob: Blob
    is_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryJudgeEvaluator:
    """Asks a model about the whole run; needs no reference answer."""

    name: ClassVar[str] = "trajectory-judge"
    version: ClassVar[str] = "1"

    language_model: LanguageModel
    settings: TrajectorySettings

    @classmethod
    def make(cls, *, language_model: LanguageModel, **config: object) -> TrajectoryJudgeEvaluator:
        """The judge so configured. Raises ValueError for settings it does not know."""
        return cls(
            language_model=language_model, settings=TrajectorySettings.model_validate(config)
        )

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.JUDGE.value,
            version=self.version,
            config=self.settings.model_dump(mode="json"),
        )

    def applies_to(self, run: Run) -> bool:
        return run.n_steps > 0

    def evaluate(self, run: Run) -> Finding:
        if (finding := without_outcome(run)) is not None:
            return finding
        trajectory = self._trajectory(run)
        if not trajectory.steps:
            return Finding.not_applicable(NO_STEPS)
        shown = [picture.step for picture in trajectory.pictures]
        return finding_of(self._judge().judge(trajectory), more={"pictures": shown})

    def estimate(self, run: Run) -> tuple[int, int]:
        """Input tokens, roughly, and output tokens at most."""
        if without_outcome(run) is not None or not run.n_steps:
            return 0, 0
        return tokens_of(self._judge().requests(self._trajectory(run)))

    def _judge(self) -> TrajectoryJudge:
        return TrajectoryJudge(language_model=self.language_model, settings=self.settings)

    def _trajectory(self, run: Run) -> Trajectory:
        pictures = ("screenshot__thumbnail", "after_screenshot__thumbnail")
        steps = list(run.steps.select_related(*pictures).order_by("index"))
        return Trajectory(
            task=resolve_text(run.goal or run.task.goal, site.SITE_HOSTS),
            steps=tuple(_shown(step) for step in steps),
            pictures=tuple(self._pictures(_frames(steps))),
            final_url=run.final_url or "",
            answer=run.final_answer,
        )

    def _pictures(self, frames: Sequence[_Frame]) -> list[Picture]:
        number, evenly = self.settings.pictures, self.settings.selection == "even"
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
                data, media_type = as_sent(read_blob(frame.blob), self.settings.longest_side)
            except (MissingBlobError, ImageError):
                continue
            found.append(
                Picture(step=frame.step, data=data, media_type=media_type, is_after=frame.is_after)
            )
        return found


def _shown(step: Step) -> StepShown:
    return StepShown(
        index=step.index,
        action=step.action,
        target=step.target,
        url=step.url,
        error=step.error,
        thought=step.thought,
        is_undone=step.state == Step.State.SUPERSEDED,
    )


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
