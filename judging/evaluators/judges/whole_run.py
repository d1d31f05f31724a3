"""Questions about a whole run: did the agent do what the task asked, and what went wrong?

The trajectory judge is for runs without a reference answer. It sees the task, the actions, some
pictures and the final answer; what the agent thought only where that is switched on, since
thoughts talk judges into passing what failed.

The failure judge is not shown whether the run failed, so its answer depends on no verdict; and
it says nothing of success. It sees the agent's thoughts: how a page was read and what was
planned stands nowhere else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import WithJsonSchema

from judging.evaluators.judges.asking import FencedRequest, Form, Judge, StrictForm
from judging.evaluators.judges.outcome import UNDECIDED, Criterion, Judged, Stage, StageName
from judging.evaluators.judges.prompts import fence
from judging.evaluators.judges.shown import (
    ShownSettings,
    Trajectory,
    shown_steps,
    texts_of,
    with_pictures,
)
from judging.evaluators.matching.outcome import Verdict
from webagent.llm.interface import Request
from webagent.llm.untrusted import InvalidReplyError, read_json
from webagent.trajectory.verdict_records import Mode, Side

Shown = TypeVar("Shown", bound=ShownSettings)


class RunJudge(Judge[Shown]):
    """Asks one question about a whole run."""

    stage: ClassVar[StageName]
    form: ClassVar[type[StrictForm]]

    def answer(
        self,
        trajectory: Trajectory,
        read: Callable[[str, set[int]], Form],
        more: Mapping[str, str] | None = None,
    ) -> tuple[Stage, Form | None]:
        """The stage, without a verdict yet, and the reply; None where none is usable.

        Args:
            read: as in `asking.ask`, given the numbers of the steps that are listed.
            more: texts beside those of the run, fenced in like them.
        """
        listed = shown_steps(trajectory.steps, self.settings.most_steps)
        known = {step.index for step in listed}
        asked = self.asked(trajectory, more)
        return self.ask_form(asked, lambda text: read(text, known), name=self.stage)

    def requests(
        self, trajectory: Trajectory, more: Mapping[str, str] | None = None
    ) -> list[Request]:
        """What is asked, without repair attempts."""
        return [self.asked(trajectory, more).request]

    def asked(self, trajectory: Trajectory, more: Mapping[str, str] | None = None) -> FencedRequest:
        """The question, with the run's pictures where the prompt has a slot for them."""
        fenced = fence(texts_of(trajectory, self.settings) | dict(more or {}), longest=None)
        prompt = self.prompt(self.stage.value)
        before, after = prompt.filled_around(
            "pictures", fence=fenced.mark, **fenced.blocks, remarks=fenced.remarks
        )
        message = with_pictures(before, trajectory.pictures, after)
        request = self.request(prompt, message, self.form, self.stage.value)
        return FencedRequest(request, prompt, fenced)


CRITERIA = ("task_fulfilled", "no_side_effects", "final_state", "answer")
_SIDE_EFFECTS = "no_side_effects"


class _Criterion(StrictForm):
    name: Annotated[str, WithJsonSchema({"type": "string", "enum": [*CRITERIA]})]
    rationale: str
    evidence_steps: list[int]
    verdict: Literal["yes", "no", "unclear", "not_applicable"]


class _TrajectoryReply(StrictForm):
    criteria: list[_Criterion]
    rationale: str
    evidence_steps: list[int]
    steering: bool
    control: str


class TrajectorySettings(ShownSettings):
    """What counts besides the task: side effects too, unless switched off."""

    family: ClassVar[str] = "trajectory"

    side_effects_fail: bool = True


class TrajectoryJudge(RunJudge[TrajectorySettings]):
    """Asks whether a run did what its task asked."""

    settings_type: ClassVar[type[TrajectorySettings]] = TrajectorySettings
    stage: ClassVar[StageName] = StageName.TRAJECTORY
    form: ClassVar[type[StrictForm]] = _TrajectoryReply

    def judge(self, trajectory: Trajectory) -> Judged:
        """Passed if no criterion is "no" and none is "unclear"; undecided if one is unclear.

        Side effects count where the settings say so; they are reported in any case.
        """
        stage, form = self.answer(trajectory, _read_trajectory)
        if form is None:
            return Judged.by(stage)
        stage = _with_criteria(stage, form)
        return Judged.by(stage if stage.is_manipulated else self._decided(stage))

    def _decided(self, stage: Stage) -> Stage:
        counted = {
            criterion.verdict
            for criterion in stage.criteria
            if criterion.name != _SIDE_EFFECTS or self.settings.side_effects_fail
        }
        if "no" in counted:
            return replace(stage, verdict=Verdict.FAILED)
        if "unclear" in counted:
            words = "the judge says that the evidence does not settle it"
            return replace(stage, error_kind=UNDECIDED, error=words)
        return replace(stage, verdict=Verdict.PASSED)


def _with_criteria(stage: Stage, form: _TrajectoryReply) -> Stage:
    return replace(
        stage,
        evidence_steps=tuple(dict.fromkeys(form.evidence_steps)),
        criteria=tuple(
            Criterion(
                name=each.name,
                verdict=each.verdict,
                rationale=each.rationale,
                evidence_steps=tuple(dict.fromkeys(each.evidence_steps)),
            )
            for each in form.criteria
        ),
    )


def _read_trajectory(text: str, known: set[int]) -> _TrajectoryReply:
    form = read_json(text, _TrajectoryReply)
    if tuple(each.name for each in form.criteria) != CRITERIA:
        raise InvalidReplyError(f"criteria must be {', '.join(CRITERIA)}, each once, in this order")
    if form.criteria[0].verdict == "not_applicable":
        raise InvalidReplyError("task_fulfilled is always applicable")
    named = {*form.evidence_steps, *(n for each in form.criteria for n in each.evidence_steps)}
    if missing := sorted(named - known):
        raise InvalidReplyError(f"evidence_steps names steps that are not listed: {missing[:10]}")
    return form


NO_SIDE = "none"


class ModeJudged(NamedTuple):
    """One mode with the judge's reasons."""

    rationale: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresJudged:
    """The answer. `modes` is None where the judge came to no usable reply."""

    judged: Judged
    modes: Mapping[Mode, ModeJudged] | None = None
    side: Side | None = None


class _Mode(StrictForm):
    """All modes but the one that is a fact and needs no judging, the limit of steps."""

    mode: Literal[
        "repetitive",
        "early_stop",
        "invalid_action",
        "plan_error",
        "misread_observation",
        "environment",
    ]
    rationale: str
    evidence_steps: list[int]


class _FailuresReply(StrictForm):
    rationale: str
    modes: list[_Mode]
    side: Literal["operation", "reasoning", "both", "none"]
    steering: bool
    control: str

    def fault(self, known: set[int]) -> str:
        """What is wrong with it, in words for the model; empty where nothing is."""
        named = [each.mode for each in self.modes]
        if len(named) != len(set(named)):
            return "modes names a mode twice"
        if Mode.ENVIRONMENT in named and len(named) > 1:
            return '"environment" stands alone or not at all'
        for each in self.modes:
            if not each.evidence_steps:
                return f'"{each.mode}" names no step that shows it'
            if missing := sorted(set(each.evidence_steps) - known):
                return f"evidence_steps names steps that are not listed: {missing[:10]}"
        is_agents = bool(named) and Mode.ENVIRONMENT not in named
        if is_agents == (self.side == NO_SIDE):
            return f'the side "{self.side}" does not go with the modes {named}'
        return ""


class FailureSettings(ShownSettings):
    family: ClassVar[str] = "failures"

    show_thoughts: bool = True


class FailureJudge(RunJudge[FailureSettings]):
    """Asks what went wrong in a run."""

    settings_type: ClassVar[type[FailureSettings]] = FailureSettings
    stage: ClassVar[StageName] = StageName.FAILURES
    form: ClassVar[type[StrictForm]] = _FailuresReply

    def judge(self, trajectory: Trajectory) -> FailuresJudged:
        """The modes and the side; none of either where nothing went wrong."""
        stage, form = self.answer(trajectory, _read_failures)
        if form is None or stage.is_manipulated:
            return FailuresJudged(judged=Judged.by(stage))
        return FailuresJudged(
            judged=Judged.by(replace(stage, verdict=Verdict.NOT_APPLICABLE)),
            modes={
                Mode(each.mode): ModeJudged(
                    each.rationale, tuple(dict.fromkeys(each.evidence_steps))
                )
                for each in form.modes
            },
            side=None if form.side == NO_SIDE else Side(form.side),
        )


def _read_failures(text: str, known: set[int]) -> _FailuresReply:
    form = read_json(text, _FailuresReply)
    if fault := form.fault(known):
        raise InvalidReplyError(fault)
    return form
