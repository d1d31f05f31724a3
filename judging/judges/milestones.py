"""The milestone judge: how far did the run get, going by what happened?

All milestones of a task are judged in one reply. The judge says of each whether it was reached,
where, and whether it was lost again; the progress is computed from that, never asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from judging.judges.asking import Asked, InvalidReplyError, ask, read_json
from judging.judges.outcome import Criterion, Judged, Stage, StageName
from judging.judges.prompts import Prompt, load_prompt
from judging.judges.schemas import BOOLEAN, INTEGER, TEXT, one_of, record, rows
from judging.judges.settings import MilestoneSettings
from judging.judges.shown import Trajectory, indices_shown, texts_of, with_pictures
from judging.judges.untrusted import Fenced, fence
from judging.matching.outcome import Verdict
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


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    milestones: list[_Milestone]
    rationale: str
    steering: bool
    control: str


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
        prompt, fenced = self._prompt(), self._fenced(trajectory, milestones)
        known = indices_shown(trajectory, self.settings)
        asked = ask(
            self.language_model,
            self._request(prompt, trajectory, fenced),
            lambda text: _read(text, len(milestones), known),
            name=StageName.MILESTONES,
            prompt=prompt,
        )
        form = asked.value
        if form is None:
            return MilestonesJudged(judged=Judged.by(asked.stage))
        stage = _stage(asked, form, milestones)
        if fenced.canary in form.control.lower():
            return MilestonesJudged(judged=Judged.by(stage.manipulated()))
        found = [
            said.finding(milestone.name)
            for said, milestone in zip(form.milestones, milestones, strict=True)
        ]
        findings = in_order(found, milestones)
        n_steps = max((step.index + 1 for step in trajectory.steps), default=0)
        progress = track(findings, weights_of(milestones), n_steps)
        verdict = Verdict.PASSED if progress.is_success else Verdict.FAILED
        judged = Judged.by(replace(stage, verdict=verdict))
        return MilestonesJudged(judged=judged, findings=findings, progress=progress)

    def requests(self, trajectory: Trajectory, milestones: Sequence[Definition]) -> list[Request]:
        """What is asked, without repair attempts."""
        fenced = self._fenced(trajectory, milestones)
        return [self._request(self._prompt(), trajectory, fenced)]

    def _prompt(self) -> Prompt:
        return load_prompt(self.settings.family, self.settings.prompts, "milestones")

    def _fenced(self, trajectory: Trajectory, milestones: Sequence[Definition]) -> Fenced:
        longest = self.settings.longest_action
        lines = [
            f"{number}. {' '.join(bounded(milestone.name, longest).split())}"
            for number, milestone in enumerate(milestones, 1)
        ]
        texts = texts_of(trajectory, self.settings) | {"milestones": "\n".join(lines)}
        return fence(texts, longest=None)

    def _request(self, prompt: Prompt, trajectory: Trajectory, fenced: Fenced) -> Request:
        before, after = prompt.filled_around(
            "pictures", fence=fenced.mark, **fenced.blocks, remarks=fenced.remarks
        )
        return Request(
            model=self.settings.model,
            messages=(with_pictures(before, trajectory.pictures, after),),
            system=prompt.system,
            schema=_SCHEMA,
            schema_name="milestones",
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
        )


def _stage(asked: Asked[_Form], form: _Form, milestones: Sequence[Definition]) -> Stage:
    """The stage with all that was said, without a verdict yet."""
    return replace(
        asked.stage,
        rationale=form.rationale,
        steering=form.steering,
        criteria=tuple(
            Criterion(
                name=milestone.name,
                verdict=said.verdict,
                rationale=said.rationale,
                evidence_steps=tuple(sorted(said.steps)),
            )
            for said, milestone in zip(form.milestones, milestones, strict=True)
        ),
    )


def _read(text: str, count: int, known: set[int]) -> _Form:
    form = read_json(text, _Form)
    wanted = list(range(1, count + 1))
    if [said.number for said in form.milestones] != wanted:
        raise InvalidReplyError(f"milestones must have the numbers {wanted}, each once, in order")
    for said in form.milestones:
        if fault := said.fault(known):
            raise InvalidReplyError(f"milestone {said.number}: {fault}")
    return form


def _step(number: int) -> int | None:
    return None if number == NOWHERE else number
