"""The trajectory judge: did the agent do what the task asks, going by what happened?

For runs without a reference answer. It sees the task, the actions, some pictures and the final
answer; what the agent thought only where that is switched on, since thoughts talk judges into
passing what failed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from judging.judges.asking import Asked, InvalidReplyError, ask, read_json
from judging.judges.outcome import UNDECIDED, Criterion, Judged, Stage, StageName
from judging.judges.prompts import Prompt, load_prompt
from judging.judges.schemas import BOOLEAN, INTEGERS, TEXT, one_of, record, rows
from judging.judges.settings import TrajectorySettings
from judging.judges.shown import Trajectory, indices_shown, texts_of, with_pictures
from judging.judges.untrusted import Fenced, fence
from judging.matching.outcome import Verdict
from webagent.llm.interface import LanguageModel, Request

CRITERIA = ("task_fulfilled", "no_side_effects", "final_state", "answer")
_SIDE_EFFECTS = "no_side_effects"
_ANSWERS = ("yes", "no", "unclear", "not_applicable")


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
        known = indices_shown(trajectory, self.settings)
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
        return fence(texts_of(trajectory, self.settings), longest=None)

    def _request(self, prompt: Prompt, trajectory: Trajectory, fenced: Fenced) -> Request:
        before, after = prompt.filled_around(
            "pictures", fence=fenced.mark, **fenced.blocks, remarks=fenced.remarks
        )
        return Request(
            model=self.settings.model,
            messages=(with_pictures(before, trajectory.pictures, after),),
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
