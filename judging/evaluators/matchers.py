"""Evaluators that ask no model: the matchers, on recorded or patched tasks, and the reward."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite
from typing import ClassVar

from django.conf import settings
from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict, ValidationError

from judging.evaluators.contract import Evaluator, Finding, without_outcome
from judging.evaluators.matching.outcome import (
    CheckVerdict,
    EvaluatorIdentity,
    Matcher,
    MatchEvaluation,
    MatchOutcome,
    MatchTask,
    Verdict,
    unresolved,
)
from judging.evaluators.matching.pipeline import build_matcher
from judging.evaluators.matching.repaired.pages import site_aliases
from judging.models import Evaluation, EvaluatorVersion
from runs.models import Run, Task
from webagent.environment.placeholders import resolve, resolve_text


class _Page(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    url: str = ""
    text_truncated: bool = False


class Evidence(BaseModel):
    """What was captured of a run's pages when it ended, one for each `program_html` target."""

    model_config = ConfigDict(extra="ignore")

    final_url: str | None = None
    pages: list[_Page | None] = []

    @property
    def is_cut(self) -> bool:
        """Whether a page was too long to be kept whole."""
        return any(page is not None and page.text_truncated for page in self.pages)


NO_SPECIFICATION = gettext_noop("the task has no evaluation specification")
OTHER_SPECIFICATION = gettext_noop("the task's specification is of another kind")
UNREADABLE_EVIDENCE = gettext_noop("the captured evidence cannot be read")
CUT_EVIDENCE = gettext_noop("the captured page was too long to be kept whole")
NEEDS_JUDGE = gettext_noop("needs a judge")
PLACEHOLDER = gettext_noop("the task names a site whose address is not set")


@dataclass(frozen=True, slots=True)
class MatcherEvaluator:
    """A pure matcher over what is stored of a run and its task."""

    matcher: Matcher

    @property
    def identity(self) -> EvaluatorIdentity:
        return self.matcher.identity

    def applies_to(self, run: Run) -> bool:
        return _specification(run) is not None

    def evaluate(self, run: Run) -> Finding:
        if (finding := without_outcome(run)) is not None:
            return finding
        spec = _specification(run)
        if spec is None:
            reason = NO_SPECIFICATION if run.task.spec is None else OTHER_SPECIFICATION
            return Finding.not_applicable(reason)
        hosts: Mapping[str, str] = settings.SITE_HOSTS
        evaluation: Mapping[str, object] = resolve(spec, hosts)
        try:
            evidence = Evidence.model_validate({} if run.evidence is None else run.evidence)
        except ValidationError as error:
            return Finding.without_verdict(UNREADABLE_EVIDENCE, {"error": str(error)[:500]})
        task = MatchTask(
            evaluation=evaluation,
            intent=resolve_text(run.goal or run.task.goal, hosts),
            host_aliases=site_aliases(hosts),
        )
        outcome = MatchOutcome(
            answer=run.final_answer,
            final_url=run.final_url or evidence.final_url,
            pages=tuple(None if page is None else page.text for page in evidence.pages),
        )
        found = self.matcher.evaluate(task, outcome)
        if placeholder := unresolved(found):
            return Finding.without_verdict(PLACEHOLDER, {"placeholder": placeholder})
        if evidence.is_cut and _failed_on_a_page(found):
            return Finding.without_verdict(CUT_EVIDENCE, found.as_details())
        return _finding(found)


def _specification(run: Run) -> Mapping[str, object] | None:
    """WebArena's evaluation object; None for tasks without one, or with another benchmark's."""
    spec = run.task.spec
    return spec if isinstance(spec, dict) and "eval_types" in spec else None


def _failed_on_a_page(evaluation: MatchEvaluation) -> bool:
    return evaluation.verdict is Verdict.FAILED and all(
        check.name.startswith("program_html")
        for check in evaluation.checks
        if check.verdict is CheckVerdict.FAILED
    )


def _finding(evaluation: MatchEvaluation) -> Finding:
    details = evaluation.as_details()
    if evaluation.verdict is Verdict.NEEDS_JUDGE:
        return Finding.without_verdict(NEEDS_JUDGE, details)
    return Finding(
        verdict=Evaluation.Verdict(evaluation.verdict.value),
        score=evaluation.score,
        reason=(evaluation.error or "")[:200],
        details=details,
    )


NO_REWARD = gettext_noop("the run has no reward")
NOT_A_NUMBER = gettext_noop("the reward is not a number")


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardEvaluator:
    """Passes a run whose reward is above `success_above`; keeps the reward as the score."""

    name: ClassVar[str] = "imported-reward"
    version: ClassVar[str] = "1"

    success_above: float = 0.5

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.REWARD.value,
            version=self.version,
            config={"success_above": self.success_above},
        )

    def applies_to(self, run: Run) -> bool:
        return run.reward is not None or run.outcome == Run.Outcome.ERROR

    def evaluate(self, run: Run) -> Finding:
        if (finding := without_outcome(run)) is not None:
            return finding
        if run.reward is None:
            return Finding.not_applicable(NO_REWARD)
        if not isfinite(run.reward):
            return Finding.without_verdict(NOT_A_NUMBER)
        passed = run.reward > self.success_above
        verdict = Evaluation.Verdict.PASSED if passed else Evaluation.Verdict.FAILED
        check = {
            "name": "reward",
            "verdict": verdict.value,
            "expected": f"> {self.success_above:g}",
            "actual": f"{run.reward:g}",
        }
        return Finding(verdict=verdict, score=run.reward, details={"checks": [check]})


class TaskVersion(StrEnum):
    """Whose reference answers an evaluator reads."""

    RECORDED = "recorded"
    """The task as the run names it."""
    PATCHED = "patched"
    """The task of the same name in the newest version made from the run's set."""


def judged_task(run: Run, version: TaskVersion) -> Task:
    """The task of that version; the run's own where its set was never patched."""
    if version is TaskVersion.RECORDED:
        return run.task
    return Task.objects.newest_versions([run.task_id]).get(run.task_id, run.task)


def with_task(run: Run, task: Task) -> Run:
    """The run as if it had been given that task; for reading only, never saved."""
    if task.pk == run.task_id:
        return run
    judged = copy(run)  # a model's copy remembers its relations for itself
    judged.task = task
    return judged


@dataclass(frozen=True, slots=True)
class OnPatchedTasks:
    """Another evaluator than the same matcher on the tasks as recorded; the name is kept."""

    evaluator: Evaluator

    @property
    def identity(self) -> EvaluatorIdentity:
        own = self.evaluator.identity
        return replace(own, config={**own.config, "tasks": TaskVersion.PATCHED.value})

    def applies_to(self, run: Run) -> bool:
        return self.evaluator.applies_to(run)

    def evaluate(self, run: Run) -> Finding:
        return self.evaluate_on(run, judged_task(run, TaskVersion.PATCHED))

    def evaluate_on(self, run: Run, task: Task) -> Finding:
        """The finding on the run, given the newest version of its task."""
        if task.infeasible_reason:
            return Finding.infeasible(task)
        return replace(self.evaluator.evaluate(with_task(run, task)), task=task)


def make_matcher(name: str, /, **config: object) -> Evaluator:
    """The matcher of that name and configuration; `tasks` patched reads patched tasks.

    Raises:
        ValueError: a setting or its value is unknown.
    """
    tasks = TaskVersion(str(config.pop("tasks", TaskVersion.RECORDED)))
    evaluator = MatcherEvaluator(build_matcher(name, config))
    return evaluator if tasks is TaskVersion.RECORDED else OnPatchedTasks(evaluator)
