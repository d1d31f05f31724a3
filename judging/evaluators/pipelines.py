"""Pipelines: a matcher, then a judge where the matcher leaves string_match to it.

A pipeline is an evaluator version like any other: its configuration holds its steps with theirs,
the model, and which version of the tasks it reads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from judging.evaluators.answer_judges import JUDGES, SingleStageEvaluator, TwoStageEvaluator
from judging.evaluators.contract import AskingEvaluator, Evaluator, Finding, without_outcome
from judging.evaluators.matchers import (
    NEEDS_JUDGE,
    MatcherEvaluator,
    TaskVersion,
    judged_task,
    with_task,
)
from judging.evaluators.matching.outcome import (
    Check,
    CheckVerdict,
    EvaluatorIdentity,
    MatchEvaluation,
    Verdict,
)
from judging.evaluators.matching.pipeline import (
    AskJudge,
    JudgeAnswer,
    asks_judge,
    build_matcher,
    combine,
)
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.strict import StrictMatcher
from judging.models import Evaluation, EvaluatorVersion
from judging.models.evaluations import SETTLED
from runs.models import Run, Task
from webagent.llm.interface import LanguageModel
from webagent.trajectory.values import items


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A matcher, then a judge, on the tasks as recorded or as patched."""

    version: ClassVar[str] = "1"

    name: str
    matcher: Evaluator
    judge: AskingEvaluator
    asked: AskJudge
    tasks: TaskVersion
    model: str

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.PIPELINE.value,
            version=self.version,
            config={
                "matcher": _step(self.matcher),
                "judge": _step(self.judge),
                "asked": self.asked.value,
                "tasks": self.tasks.value,
                "model": self.model,
            },
        )

    def applies_to(self, run: Run) -> bool:
        return self.matcher.applies_to(run)

    def evaluate(self, run: Run) -> Finding:
        return self.evaluate_on(run, judged_task(run, self.tasks))

    def evaluate_on(self, run: Run, task: Task) -> Finding:
        """The finding on the run, given the version of its task that the pipeline reads."""
        if (finding := without_outcome(run)) is not None:
            return finding
        finding = self._evaluate(with_task(run, task))
        named = {"set": str(task.task_set), "id": task.external_id}
        return replace(finding, task=task, details={**finding.details, "task": named})

    def _evaluate(self, run: Run) -> Finding:
        if self.tasks is TaskVersion.PATCHED and run.task.infeasible_reason:
            return Finding.infeasible(run.task)
        first = self.matcher.evaluate(run)
        matched = _matched(first)
        second = self.judge.evaluate(run) if asks_judge(matched, self.asked) else None
        answered = None if second is None else _answered(second)
        return _finding(combine(matched, answered, self.asked), first, second, self)

    def estimate(self, run: Run) -> tuple[int, int]:
        if without_outcome(run) is not None:
            return 0, 0
        judged = with_task(run, judged_task(run, self.tasks))
        if self.tasks is TaskVersion.PATCHED and judged.task.infeasible_reason:
            return 0, 0
        if not asks_judge(_matched(self.matcher.evaluate(judged)), self.asked):
            return 0, 0
        return self.judge.estimate(judged)


def make_pipeline(
    name: str, *, language_model: LanguageModel, model: str, **config: object
) -> Pipeline:
    """The pipeline of that name and configuration: as predefined where it says nothing.

    Raises:
        ValueError: a step, or a setting of one, is unknown.
    """
    wanted = {**PREDEFINED.get(name, {}), **config}
    if set(wanted) != _SETTINGS:
        raise ValueError(f"a pipeline has the settings {', '.join(sorted(_SETTINGS))}")
    matcher, judge = (_Step.model_validate(wanted[name]) for name in ("matcher", "judge"))
    if judge.name not in JUDGES:
        raise ValueError(f"no judge is named {judge.name}; there are {', '.join(JUDGES)}")
    return Pipeline(
        name=name,
        matcher=MatcherEvaluator(build_matcher(matcher.name, matcher.config)),
        judge=JUDGES[judge.name](language_model=language_model, **judge.config | {"model": model}),
        asked=AskJudge(str(wanted["asked"])),
        tasks=TaskVersion(str(wanted["tasks"])),
        model=model,
    )


_SETTINGS = {"matcher", "judge", "asked", "tasks"}
PREDEFINED: Mapping[str, Mapping[str, object]] = {
    "before": {
        "matcher": {"name": StrictMatcher.name},
        "judge": {
            "name": SingleStageEvaluator.name,
            "config": {"mode": "strict", "calls": "published"},
        },
        "asked": AskJudge.WHERE_NEEDED.value,
        "tasks": TaskVersion.RECORDED.value,
    },
    "after": {
        "matcher": {"name": RepairedMatcher.name},
        "judge": {"name": TwoStageEvaluator.name},
        "asked": AskJudge.WHERE_NOT_PASSED.value,
        "tasks": TaskVersion.PATCHED.value,
    },
}
"""The published evaluation as it was, and the repaired one."""

PIPELINES: Mapping[str, Callable[..., Pipeline]] = {
    name: partial(make_pipeline, name) for name in PREDEFINED
}
"""How each pipeline is made: `make(language_model=…, model=…, **settings)`."""


class _Step(BaseModel):
    """A step as a pipeline's configuration holds it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    version: str = ""
    """Told for people; that it is still the same, the hash of the whole pipeline shows."""
    config: dict[str, object] = {}


def _step(evaluator: Evaluator) -> dict[str, object]:
    identity = evaluator.identity
    return {"name": identity.name, "version": identity.version, "config": dict(identity.config)}


def _matched(finding: Finding) -> MatchEvaluation:
    """What a matcher found, as it is stored with an evaluation."""
    waits = finding.verdict == Evaluation.Verdict.ERROR and finding.reason == NEEDS_JUDGE
    return MatchEvaluation(
        verdict=Verdict.NEEDS_JUDGE if waits else Verdict(finding.verdict.value),
        score=finding.score,
        checks=tuple(_check(each) for each in items(finding.details.get("checks"))),
        error=finding.reason or None,
    )


def _answered(finding: Finding) -> JudgeAnswer:
    """A judgement, with the texts compared, where its details hold them."""
    first: Mapping[str, Any] = next(iter(items(finding.details.get("checks"))), {})
    return JudgeAnswer(
        verdict=Verdict(finding.verdict.value),
        reason=finding.reason,
        expected=str(first.get("expected", "")),
        actual=str(first.get("actual", "")),
    )


def _check(stored: Mapping[str, Any]) -> Check:
    typed = {"verdict": CheckVerdict(stored["verdict"]), "rules": tuple(stored["rules"])}
    return Check(**{**stored, **typed})


def _finding(
    combined: MatchEvaluation, first: Finding, second: Finding | None, pipeline: Pipeline
) -> Finding:
    judge = pipeline.judge.identity.name
    parts = [_part(pipeline.matcher, first)]
    if second is not None:
        parts.append(_part(pipeline.judge, second))
    has_judged = second is not None and second.verdict in SETTLED
    details: dict[str, object] = {
        "checks": [check.as_dict() for check in combined.checks],
        "rules": first.details.get("rules", []) if second is None else [],
        "decided_by": judge if has_judged else pipeline.matcher.identity.name,
        "parts": parts,
        "stages": second.details.get("stages", []) if second is not None else [],
    }
    return Finding(
        verdict=Evaluation.Verdict(combined.verdict.value),
        score=combined.score,
        reason=(combined.error or "")[:200],
        details=details,
        rationale=second.rationale if second is not None else first.rationale,
        cost=second.cost if second is not None else Decimal(0),
    )


def _part(evaluator: Evaluator, finding: Finding) -> dict[str, object]:
    return {
        "evaluator": f"{evaluator.identity.name} {evaluator.identity.version}",
        "verdict": finding.verdict.value,
        "score": finding.score,
        "reason": finding.reason,
        "details": dict(finding.details),
    }
