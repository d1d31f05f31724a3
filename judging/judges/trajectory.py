"""The trajectory judge: did the agent do what the task asks, going by what happened?

For runs without a reference answer. It sees the task, the actions, some pictures and the final
answer; what the agent thought only where that is switched on, since thoughts talk judges into
passing what failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from judging.judges.asking import Asked, InvalidReplyError, ask, read_json
from judging.judges.outcome import UNDECIDED, Criterion, Judged, Stage, StageName
from judging.judges.prompts import Prompt, load_prompt
from judging.judges.schemas import BOOLEAN, INTEGERS, TEXT, one_of, record, rows
from judging.judges.settings import TrajectorySettings
from judging.judges.untrusted import Fenced, fence
from judging.matching.outcome import Verdict
from webagent.llm.interface import ImagePart, LanguageModel, Message, Request, TextPart
from webagent.llm.untrusted import bounded

CRITERIA = ("task_fulfilled", "no_side_effects", "final_state", "answer")
_SIDE_EFFECTS = "no_side_effects"
_ANSWERS = ("yes", "no", "unclear", "not_applicable")


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


class _Criterion(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    rationale: str
    evidence_steps: list[int]
    verdict: Literal["yes", "no", "unclear", "not_applicable"]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    criteria: list[_Criterion]
    rationale: str
    evidence_steps: list[int]
    steering: bool
    control: str


_SCHEMA = record(
    criteria=rows(
        name=one_of(*CRITERIA),
        rationale=TEXT,
        evidence_steps=INTEGERS,
        verdict=one_of(*_ANSWERS),
    ),
    rationale=TEXT,
    evidence_steps=INTEGERS,
    steering=BOOLEAN,
    control=TEXT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryJudge:
    """Asks one question about a whole run."""

    language_model: LanguageModel
    settings: TrajectorySettings

    def judge(self, trajectory: Trajectory) -> Judged:
        """Passed if no criterion is "no" and none is "unclear"; undecided if one is unclear.

        Side effects count where the settings say so; they are told in any case.
        """
        prompt, fenced = self._prompt(), self._fenced(trajectory)
        known = {step.index for step in shown_steps(trajectory.steps, self.settings.most_steps)}
        asked = ask(
            self.language_model,
            self._request(prompt, trajectory, fenced),
            lambda text: _read(text, known),
            name=StageName.TRAJECTORY,
            prompt=prompt,
        )
        return Judged.by(self._settled(asked, fenced))

    def requests(self, trajectory: Trajectory) -> list[Request]:
        """What is asked, without repair attempts."""
        return [self._request(self._prompt(), trajectory, self._fenced(trajectory))]

    def _prompt(self) -> Prompt:
        return load_prompt(self.settings.family, self.settings.prompts, "trajectory")

    def _fenced(self, trajectory: Trajectory) -> Fenced:
        answer = trajectory.answer if self.settings.show_answer else None
        steps = shown_steps(trajectory.steps, self.settings.most_steps)
        lines = [self._line(step) for step in steps]
        if left_out := len(trajectory.steps) - len(steps):
            lines.insert(len(steps) // 2, f"[… {left_out} steps left out …]")
        longest = self.settings.longest_text
        texts = {
            "task": bounded(trajectory.task, longest),
            "steps": "\n".join(lines) or "(no steps)",
            "final_url": bounded(trajectory.final_url, 500) or "(not recorded)",
            "answer": bounded(answer, longest) if answer else "(none)",
        }
        return fence(texts, longest=None)

    def _line(self, step: StepShown) -> str:
        def short(text: str) -> str:
            return " ".join(bounded(text, self.settings.longest_action).split())

        parts = [f"step {step.index}{' (undone later)' if step.is_undone else ''}:"]
        parts.append(short(step.action) or "no action")
        if step.target:
            parts.append(f"| element: {short(step.target)}")
        if step.url:
            parts.append(f"| page: {short(step.url)}")
        if step.error:
            parts.append(f"| error: {short(step.error)}")
        if step.thought and self.settings.show_thoughts:
            parts.append(f"| thought: {short(step.thought)}")
        return " ".join(parts)

    def _request(self, prompt: Prompt, trajectory: Trajectory, fenced: Fenced) -> Request:
        before, after = prompt.filled_around(
            "pictures", fence=fenced.mark, **fenced.blocks, remarks=fenced.remarks
        )
        parts: list[TextPart | ImagePart] = [TextPart(before)]
        for picture in trajectory.pictures:
            place = "after" if picture.is_after else "before"
            parts.append(TextPart(f"Picture: the page {place} step {picture.step}."))
            parts.append(ImagePart(picture.data, picture.media_type))
        parts.append(TextPart(after))
        return Request(
            model=self.settings.model,
            messages=(Message("user", tuple(parts)),),
            system=prompt.system,
            schema=_SCHEMA,
            schema_name="trajectory",
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
        )

    def _settled(self, asked: Asked[_Form], fenced: Fenced) -> Stage:
        form = asked.value
        if form is None:
            return asked.stage
        stage = replace(
            asked.stage,
            rationale=form.rationale,
            steering=form.steering,
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
        if fenced.canary in form.control.lower():
            return stage.manipulated()
        return self._decided(stage)

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


def shown_steps(steps: Sequence[StepShown], most: int) -> list[StepShown]:
    """All steps, or the first and last of them, half each."""
    if len(steps) <= most:
        return list(steps)
    return [*steps[: most // 2], *steps[len(steps) - (most - most // 2) :]]


def _read(text: str, known: set[int]) -> _Form:
    form = read_json(text, _Form)
    if tuple(each.name for each in form.criteria) != CRITERIA:
        raise InvalidReplyError(f"criteria must be {', '.join(CRITERIA)}, each once, in this order")
    if form.criteria[0].verdict == "not_applicable":
        raise InvalidReplyError("task_fulfilled is always applicable")
    named = {*form.evidence_steps, *(n for each in form.criteria for n in each.evidence_steps)}
    if missing := sorted(named - known):
        raise InvalidReplyError(f"evidence_steps names steps that are not listed: {missing[:10]}")
    return form
