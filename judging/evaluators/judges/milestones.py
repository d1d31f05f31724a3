"""The milestone judge: how far did the run get, going by what happened?

All milestones of a task are judged in one reply. The judge says of each whether it was reached,
where, and whether it was lost again; the progress is computed from that, never asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from judging.evaluators.judges.asking import (
    BOOLEAN,
    INTEGER,
    TEXT,
    InvalidReplyError,
    one_of,
    read_json,
    record,
    rows,
)
from judging.evaluators.judges.outcome import Criterion, Judged, Stage, StageName
from judging.evaluators.judges.settings import MilestoneSettings
from judging.evaluators.judges.shown import Trajectory, indices_shown
from judging.evaluators.judges.whole_run import ReplyForm, RunQuestion
from judging.evaluators.matching.outcome import Verdict
from webagent.llm.interface import LanguageModel, Request
from webagent.llm.untrusted import bounded
from webagent.milestones.definition import Definition, weights_of
from webagent.milestones.findings import Finding, Progress, in_order, track

NOWHERE = -1
"""What the judge writes where there is no such step: providers' schemas know no empty number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestonesJudged:
    """What came of the question; findings and progress only where there is a verdict.

    The verdict is passed where all milestones held at the end.
    """

    judged: Judged
    findings: tuple[Finding, ...] = ()
    progress: Progress | None = None


class _Milestone(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    number: int
    rationale: str
    evidence_step: int
    reached_at: int
    lost_at: int
    verdict: Literal["reached", "lost", "not_reached"]

    @property
    def steps(self) -> set[int]:
        return {self.evidence_step, self.reached_at, self.lost_at} - {NOWHERE}

    def fault(self, known: set[int]) -> str:
        """What is wrong with it, in words for the model; empty where nothing is."""
        if missing := sorted(self.steps - known):
            return f"names steps that are not listed: {missing}"
        is_reached, is_lost = self.reached_at != NOWHERE, self.lost_at != NOWHERE
        if (is_reached, is_lost) != _STEPS_GIVEN[self.verdict]:
            return f'"reached_at" and "lost_at" do not go with the verdict "{self.verdict}"'
        if is_lost and self.lost_at <= self.reached_at:
            return '"lost_at" must come after "reached_at"'
        if is_reached and self.evidence_step == NOWHERE:
            return '"evidence_step" is missing for what was reached'
        return ""

    def finding(self, name: str) -> Finding:
        return Finding(
            name=name,
            achieved_at=_step(self.reached_at),
            lost_at=_step(self.lost_at),
            rationale=self.rationale,
            evidence_step=_step(self.evidence_step),
        )


_STEPS_GIVEN = {"reached": (True, False), "lost": (True, True), "not_reached": (False, False)}


class _Form(ReplyForm):
    milestones: list[_Milestone]


_SCHEMA = record(
    milestones=rows(
        number=INTEGER,
        rationale=TEXT,
        evidence_step=INTEGER,
        reached_at=INTEGER,
        lost_at=INTEGER,
        verdict=one_of(*_STEPS_GIVEN),
    ),
    rationale=TEXT,
    steering=BOOLEAN,
    control=TEXT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneJudge:
    """Asks one question about all milestones of a run. Equal questions are equal requests."""

    language_model: LanguageModel
    settings: MilestoneSettings

    def judge(self, trajectory: Trajectory, milestones: Sequence[Definition]) -> MilestonesJudged:
        """The findings, what is out of order left out, and the progress that they make.

        Raises:
            ValueError: there is no milestone of any weight.
        """
        known = indices_shown(trajectory, self.settings)
        answered = self.question.ask(
            trajectory, lambda text: _read(text, len(milestones), known), self.texts_of(milestones)
        )
        form = answered.form
        if form is None:
            return MilestonesJudged(judged=Judged.by(answered.stage))
        stage = _with_criteria(answered.stage, form, milestones)
        if answered.is_manipulated:
            return MilestonesJudged(judged=Judged.by(stage.manipulated()))
        found = [
            judged.finding(milestone.name)
            for judged, milestone in zip(form.milestones, milestones, strict=True)
        ]
        findings = in_order(found, milestones)
        n_steps = max((step.index + 1 for step in trajectory.steps), default=0)
        progress = track(findings, weights_of(milestones), n_steps)
        verdict = Verdict.PASSED if progress.is_success else Verdict.FAILED
        judged = Judged.by(replace(stage, verdict=verdict))
        return MilestonesJudged(judged=judged, findings=findings, progress=progress)

    def requests(self, trajectory: Trajectory, milestones: Sequence[Definition]) -> list[Request]:
        """What is asked, without repair attempts."""
        return [self.question.request(trajectory, self.texts_of(milestones))]

    @property
    def question(self) -> RunQuestion:
        """How it asks."""
        return RunQuestion(
            language_model=self.language_model,
            settings=self.settings,
            name=StageName.MILESTONES,
            schema=_SCHEMA,
        )

    def texts_of(self, milestones: Sequence[Definition]) -> dict[str, str]:
        """The milestones as one text, numbered."""
        longest = self.settings.longest_action
        lines = [
            f"{number}. {' '.join(bounded(milestone.name, longest).split())}"
            for number, milestone in enumerate(milestones, 1)
        ]
        return {"milestones": "\n".join(lines)}


def _with_criteria(stage: Stage, form: _Form, milestones: Sequence[Definition]) -> Stage:
    """The stage with the judgement of each milestone."""
    return replace(
        stage,
        criteria=tuple(
            Criterion(
                name=milestone.name,
                verdict=judged.verdict,
                rationale=judged.rationale,
                evidence_steps=tuple(sorted(judged.steps)),
            )
            for judged, milestone in zip(form.milestones, milestones, strict=True)
        ),
    )


def _read(text: str, count: int, known: set[int]) -> _Form:
    form = read_json(text, _Form)
    wanted = list(range(1, count + 1))
    if [judged.number for judged in form.milestones] != wanted:
        raise InvalidReplyError(f"milestones must have the numbers {wanted}, each once, in order")
    for judged in form.milestones:
        if fault := judged.fault(known):
            raise InvalidReplyError(f"milestone {judged.number}: {fault}")
    return form


def _step(number: int) -> int | None:
    return None if number == NOWHERE else number
