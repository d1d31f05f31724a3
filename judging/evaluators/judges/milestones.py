"""Milestones by a model: which ones a run reached, and which ones a task could have.

All milestones of a task are judged in one reply. The judge says of each whether it was reached,
where, and whether it was lost again; the progress is computed from that, never asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from judging.evaluators.judges.asking import FencedRequest, Judge, StrictForm, ask
from judging.evaluators.judges.outcome import Criterion, Judged, Stage, StageName
from judging.evaluators.judges.prompts import fence
from judging.evaluators.judges.shown import ShownSettings, Trajectory, texts_of
from judging.evaluators.judges.whole_run import RunJudge
from judging.evaluators.matching.outcome import Verdict
from webagent.llm.interface import Request
from webagent.llm.untrusted import InvalidReplyError, bounded, read_json
from webagent.milestones.findings import Definition, Finding, Progress, in_order, track, weights_of

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


class _Milestone(StrictForm):
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


class _MilestonesReply(StrictForm):
    milestones: list[_Milestone]
    rationale: str
    steering: bool
    control: str


class MilestoneSettings(ShownSettings):
    """Nothing but what is shown. The agent's own word on its success is not, by default."""

    family: ClassVar[str] = "milestones"


class MilestoneJudge(RunJudge[MilestoneSettings]):
    """Asks one question about all milestones of a run."""

    settings_type: ClassVar[type[MilestoneSettings]] = MilestoneSettings
    stage: ClassVar[StageName] = StageName.MILESTONES
    form: ClassVar[type[StrictForm]] = _MilestonesReply

    def judge(self, trajectory: Trajectory, milestones: Sequence[Definition]) -> MilestonesJudged:
        """The findings, what is out of order left out, and the progress that they make.

        Raises:
            ValueError: there is no milestone of any weight.
        """
        stage, form = self.answer(
            trajectory,
            lambda text, known: _read_milestones(text, len(milestones), known),
            self.texts_of(milestones),
        )
        if form is None:
            return MilestonesJudged(judged=Judged.by(stage))
        stage = _with_criteria(stage, form, milestones)
        if stage.is_manipulated:
            return MilestonesJudged(judged=Judged.by(stage))
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

    def texts_of(self, milestones: Sequence[Definition]) -> dict[str, str]:
        """The milestones as one text, numbered."""
        longest = self.settings.longest_action
        lines = [
            f"{number}. {' '.join(bounded(milestone.name, longest).split())}"
            for number, milestone in enumerate(milestones, 1)
        ]
        return {"milestones": "\n".join(lines)}


def _with_criteria(stage: Stage, form: _MilestonesReply, milestones: Sequence[Definition]) -> Stage:
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


def _read_milestones(text: str, count: int, known: set[int]) -> _MilestonesReply:
    form = read_json(text, _MilestonesReply)
    wanted = list(range(1, count + 1))
    if [judged.number for judged in form.milestones] != wanted:
        raise InvalidReplyError(f"milestones must have the numbers {wanted}, each once, in order")
    for judged in form.milestones:
        if fault := judged.fault(known):
            raise InvalidReplyError(f"milestone {judged.number}: {fault}")
    return form


def _step(number: int) -> int | None:
    return None if number == NOWHERE else number


LONGEST_NAME = 200
MOST_PROPOSED = 20
HEAVIEST = 100.0


class Proposal(BaseModel):
    """One milestone that a model proposes, and why."""

    name: str
    rationale: str
    weight: float
    is_ordered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What came of the question. No proposals where the stage says why."""

    stage: Stage
    proposals: tuple[Proposal, ...] = ()


class _Proposal(StrictForm):
    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    rationale: str
    weight: Annotated[float, Field(gt=0, le=HEAVIEST, allow_inf_nan=False)]
    ordered: bool


class _ProposalsReply(StrictForm):
    milestones: list[_Proposal]
    steering: bool
    control: str


class ProposalSettings(ShownSettings):
    """`most_runs`: so many successful runs are shown, without pictures."""

    family: ClassVar[str] = "proposals"

    pictures: int = Field(default=0, ge=0, le=0)
    most_steps: int = Field(default=40, ge=2, le=1000)
    most_runs: int = Field(default=3, ge=0, le=10)


class MilestoneProposer(Judge[ProposalSettings]):
    """Asks one question about a task and its successful runs, without pictures."""

    def propose(self, task: str, runs: Sequence[Trajectory]) -> Proposed:
        """The proposals in the order in which they are usually reached."""
        asked = self.asked(task, runs)
        answer = ask(
            self.language_model,
            asked.request,
            _read_proposals,
            name=StageName.PROPOSALS,
            prompt=asked.prompt,
        )
        form = answer.value
        if form is None:
            return Proposed(stage=answer.stage)
        stage = replace(answer.stage, steering=form.steering, verdict=Verdict.PASSED)
        if asked.fenced.canary in form.control.lower():
            return Proposed(stage=stage.manipulated())
        return Proposed(
            stage=stage,
            proposals=tuple(
                Proposal(
                    name=" ".join(each.name.split()),
                    rationale=each.rationale,
                    weight=each.weight,
                    is_ordered=each.ordered,
                )
                for each in form.milestones
            ),
        )

    def requests(self, task: str, runs: Sequence[Trajectory]) -> list[Request]:
        """What is asked, without repair attempts."""
        return [self.asked(task, runs).request]

    def asked(self, task: str, runs: Sequence[Trajectory]) -> FencedRequest:
        """The question about the task and the first of the runs."""
        shown = []
        for number, run in enumerate(runs[: self.settings.most_runs], 1):
            texts = texts_of(run, self.settings)
            shown.append(f"run {number}:\n{texts['steps']}\nits final answer: {texts['answer']}")
        texts = {
            "task": bounded(task, self.settings.longest_text),
            "runs": "\n\n".join(shown) or "(no run of it succeeded yet)",
        }
        fenced = fence(texts, longest=None)
        return self.fenced_request("milestones", fenced, _ProposalsReply, "milestone_proposals")


def _read_proposals(text: str) -> _ProposalsReply:
    form = read_json(text, _ProposalsReply)
    if not 1 <= len(form.milestones) <= MOST_PROPOSED:
        raise InvalidReplyError(f"milestones must be 1 to {MOST_PROPOSED}")
    names = [" ".join(each.name.split()).casefold() for each in form.milestones]
    if not all(names):
        raise InvalidReplyError("a milestone has no name")
    if len(set(names)) < len(names):
        raise InvalidReplyError("two milestones have the same name")
    return form
