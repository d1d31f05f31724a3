"""What a judge would say if fewer of its stages counted, from the replies that are stored.

No model is asked. Where a stage that counts was never put to the model, because an earlier one
had passed, there is no verdict, and it says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Evaluator, Finding
from judging.evaluators.judges.outcome import StageName
from judging.evaluators.matching.outcome import EvaluatorIdentity
from judging.models import Evaluation
from runs.models import Run
from webagent.trajectory.values import items, mapping

NOT_ASKED = gettext_noop("the judge was not asked about this run")
STAGE_NOT_ASKED = gettext_noop("this stage of the judge was not asked about this run")
OTHER_TASK = gettext_noop("the judge was asked about another version of the task")
STAGE_ERROR = gettext_noop("the judge came to no verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """What is stored of a judge on one run. `verdict` stands where no stage was needed."""

    verdict: str
    stages: Mapping[str, str]
    """Verdicts by the name of the stage, of those that were asked."""
    task_id: int | None
    """The version of the task that it was asked about."""


def read_replies(details: object, verdict: str, task_id: int | None) -> Replies | None:
    """The judge's replies in an evaluation's details; None where no judge was asked.

    Args:
        verdict: the whole evaluation's, which is the judge's own where there are no parts.
    """
    stages = _stages(details)
    parts = mapping(details).get("parts")
    if isinstance(parts, list):
        if len(parts) < 2 or not isinstance(parts[-1], dict):
            return None
        verdict = str(parts[-1].get("verdict"))
        stages = stages or _stages(parts[-1].get("details"))
    return Replies(verdict=verdict, stages=stages, task_id=task_id)


def _stages(details: object) -> dict[str, str]:
    return {
        str(stage.get("name")): str(stage.get("verdict"))
        for stage in items(mapping(details).get("stages"))
        if isinstance(stage, dict)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJudge:
    """Stands in for a judge. `stages` are those that count, in order; empty for all it has."""

    judge: Evaluator
    stages: Sequence[StageName]
    replies: dict[UUID, Replies] = field(default_factory=dict)

    @property
    def identity(self) -> EvaluatorIdentity:
        return self.judge.identity

    def applies_to(self, run: Run) -> bool:
        return self.judge.applies_to(run)

    def estimate(self, run: Run) -> tuple[int, int]:
        return 0, 0

    def evaluate(self, run: Run) -> Finding:
        replies = self.replies.get(run.pk)
        if replies is None:
            return Finding.without_verdict(NOT_ASKED)
        if replies.task_id is not None and replies.task_id != run.task_id:
            return Finding.without_verdict(OTHER_TASK)
        if not replies.stages or not self.stages:
            return _finding(replies.verdict, [])
        counted: list[dict[str, object]] = []
        for name in self.stages:
            verdict = replies.stages.get(name.value)
            if verdict is None:
                return Finding.without_verdict(STAGE_NOT_ASKED)
            counted.append({"name": name.value, "verdict": verdict})
            if verdict != Evaluation.Verdict.FAILED:
                return _finding(verdict, counted)
        return _finding(Evaluation.Verdict.FAILED, counted)


def _finding(verdict: str, stages: Sequence[Mapping[str, object]]) -> Finding:
    if verdict not in Evaluation.Verdict.values or verdict == Evaluation.Verdict.ERROR:
        return Finding.without_verdict(STAGE_ERROR)
    found = Evaluation.Verdict(verdict)
    scores = {Evaluation.Verdict.PASSED: 1.0, Evaluation.Verdict.FAILED: 0.0}
    return Finding(verdict=found, score=scores.get(found), details={"stages": list(stages)})
