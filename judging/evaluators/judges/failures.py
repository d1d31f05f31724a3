"""The failure judge: what went wrong in a run, if anything, going by what happened?

It is not shown whether the run failed, so its answer depends on no verdict; and it says
nothing of success. Unlike the judges of success it sees the agent's thoughts: how a page was read
and what was planned stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from judging.evaluators.judges.asking import (
    BOOLEAN,
    INTEGERS,
    TEXT,
    InvalidReplyError,
    one_of,
    read_json,
    record,
    rows,
)
from judging.evaluators.judges.outcome import Judged, StageName
from judging.evaluators.judges.settings import FailureSettings
from judging.evaluators.judges.shown import Trajectory, indices_shown
from judging.evaluators.judges.whole_run import ReplyForm, RunQuestion
from judging.evaluators.matching.outcome import Verdict
from webagent.llm.interface import LanguageModel, Request
from webagent.recovery.failure_kinds import Mode, Side

JUDGED = tuple(mode for mode in Mode if mode is not Mode.MAX_STEPS)
"""All but the one that is a fact and needs no judging."""
NO_SIDE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeJudged:
    """One mode with the judge's reasons."""

    rationale: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresJudged:
    """The answer. `modes` is None where the judge came to no usable reply."""

    judged: Judged
    modes: Mapping[Mode, ModeJudged] | None = None
    side: Side | None = None


class _Mode(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

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


class _Form(ReplyForm):
    modes: list[_Mode]
    side: Literal["operation", "reasoning", "both", "none"]

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


_SCHEMA = record(
    rationale=TEXT,
    modes=rows(mode=one_of(*JUDGED), rationale=TEXT, evidence_steps=INTEGERS),
    side=one_of(*Side, NO_SIDE),
    steering=BOOLEAN,
    control=TEXT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureJudge:
    """Asks one question about a whole run. Equal questions are equal requests."""

    language_model: LanguageModel
    settings: FailureSettings

    def judge(self, trajectory: Trajectory) -> FailuresJudged:
        """The modes and the side; none of either where nothing went wrong."""
        known = indices_shown(trajectory, self.settings)
        answered = self.question.ask(trajectory, lambda text: _read(text, known))
        stage, form = answered.stage, answered.form
        if form is None:
            return FailuresJudged(judged=Judged.by(stage))
        if answered.is_manipulated:
            return FailuresJudged(judged=Judged.by(stage.manipulated()))
        return FailuresJudged(
            judged=Judged.by(replace(stage, verdict=Verdict.NOT_APPLICABLE)),
            modes={
                Mode(each.mode): ModeJudged(
                    rationale=each.rationale, steps=tuple(dict.fromkeys(each.evidence_steps))
                )
                for each in form.modes
            },
            side=None if form.side == NO_SIDE else Side(form.side),
        )

    def requests(self, trajectory: Trajectory) -> list[Request]:
        """What is asked, without repair attempts."""
        return [self.question.request(trajectory)]

    @property
    def question(self) -> RunQuestion:
        """How it asks."""
        return RunQuestion(
            language_model=self.language_model,
            settings=self.settings,
            name=StageName.FAILURES,
            schema=_SCHEMA,
        )


def _read(text: str, known: set[int]) -> _Form:
    form = read_json(text, _Form)
    if fault := form.fault(known):
        raise InvalidReplyError(fault)
    return form
