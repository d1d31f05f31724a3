"""LLM judges of final answers over stored runs, all judges by name, and judges from stored replies.

From the replies that are stored it follows what a judge would say if fewer of its stages counted.
No model is asked for that: where a stage that counts was never put to the model, because an earlier
one had passed, there is no verdict, and it says so.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar
from uuid import UUID

from django.conf import settings as site
from django.utils.translation import gettext_noop

from judging.evaluators.contract import (
    NO_VERDICT,
    AskingEvaluator,
    Evaluator,
    Finding,
    ModelEvaluator,
    OwnJudge,
    finding_of,
    without_outcome,
)
from judging.evaluators.judges.answers import Question, SingleStageJudge, TwoStageJudge
from judging.evaluators.judges.asking import tokens_of
from judging.evaluators.judges.outcome import Judged, StageName
from judging.evaluators.matchers import NO_SPECIFICATION, OTHER_SPECIFICATION, PLACEHOLDER
from judging.evaluators.matching.outcome import (
    EvaluatorIdentity,
    JudgeCall,
    JudgeKind,
    MatchOutcome,
    MatchTask,
)
from judging.evaluators.matching.specification import (
    ALTERNATIVES,
    SpecificationError,
    other_parts,
    read_reference,
)
from judging.evaluators.matching.strict import StrictMatcher
from judging.evaluators.whole_runs import MilestoneJudgeEvaluator, TrajectoryJudgeEvaluator
from judging.models import Evaluation
from runs.models import Run
from webagent.environment.placeholders import placeholders, resolve, resolve_text
from webagent.llm.interface import Request
from webagent.trajectory.values import items, mapping

NO_REFERENCE_ANSWER = gettext_noop("the task has no reference answer")
NO_CALLS = gettext_noop("the published evaluator asks no judge here")
UNREADABLE_SPECIFICATION = gettext_noop("the task's specification cannot be read")
NOT_LOOKED_AT = gettext_noop("a judge of answers does not look at this")
NOT_ASKED = gettext_noop("the judge was not asked about this run")
STAGE_NOT_ASKED = gettext_noop("this stage of the judge was not asked about this run")
OTHER_TASK = gettext_noop("the judge was asked about another version of the task")


class _NothingToJudge(Exception):
    """There is nothing to ask about this run; the finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.reason)
        self.finding = finding


class _AnswerEvaluator(ModelEvaluator[OwnJudge]):
    """Judges the answer alone: what else the task's specification compares is left to matchers and
    pipelines, and named in the details.
    """

    def applies_to(self, run: Run) -> bool:
        spec = run.task.spec
        kinds = spec.get("eval_types") if isinstance(spec, dict) else None
        return isinstance(kinds, list) and "string_match" in kinds

    def evaluate(self, run: Run) -> Finding:
        try:
            question = _question(run)
            judged = self.judged(question, run)
        except _NothingToJudge as nothing:
            return nothing.finding
        return finding_of(judged, _checks(question, judged, other_parts(run.task.spec or {})))

    def estimate(self, run: Run) -> tuple[int, int]:
        try:
            return tokens_of(self.requests(_question(run), run))
        except _NothingToJudge:
            return 0, 0

    @abstractmethod
    def judged(self, question: Question, run: Run) -> Judged:
        """The model's judgement. Raises _NothingToJudge."""

    @abstractmethod
    def requests(self, question: Question, run: Run) -> Sequence[Request]:
        """What it is asked, without repair attempts. Raises _NothingToJudge."""


class TwoStageEvaluator(_AnswerEvaluator[TwoStageJudge]):
    """`two-stage-judge`: the same meaning as the reference answer, or else its key information."""

    name: ClassVar[str] = "two-stage-judge"
    judge_type: ClassVar[type[TwoStageJudge]] = TwoStageJudge

    def judged(self, question: Question, run: Run) -> Judged:
        return self.judge.judge(self._with_actions(question, run))

    def requests(self, question: Question, run: Run) -> Sequence[Request]:
        return self.judge.requests(self._with_actions(question, run))

    def _with_actions(self, question: Question, run: Run) -> Question:
        if not (most := self.judge.settings.show_actions):
            return question
        last = run.steps.order_by("-index").values_list("action", flat=True)[:most]
        return replace(question, actions=tuple(reversed(last)))


class SingleStageEvaluator(_AnswerEvaluator[SingleStageJudge]):
    """`single-stage-judge`: correct or not, as the published evaluator asks it."""

    name: ClassVar[str] = "single-stage-judge"
    judge_type: ClassVar[type[SingleStageJudge]] = SingleStageJudge

    def judged(self, question: Question, run: Run) -> Judged:
        return self.judge.judge(self._calls(question, run))

    def requests(self, question: Question, run: Run) -> Sequence[Request]:
        return self.judge.requests(self._calls(question, run))

    def _calls(self, question: Question, run: Run) -> list[JudgeCall]:
        if self.judge.settings.calls == "published":
            calls = _published_calls(question, run)
            if not calls:
                raise _NothingToJudge(Finding.not_applicable(NO_CALLS))
            return calls
        if question.reference.reason is not None:
            references, kind = [question.reference.reason], JudgeKind.UNACHIEVABLE
        else:
            references = [ALTERNATIVES.join(item) for item in question.reference.items]
            kind = JudgeKind.FUZZY
        return [
            JudgeCall(
                judge=kind, reference=reference, answer=question.answer, question=question.task
            )
            for reference in references
        ]


JUDGES: Mapping[str, Callable[..., AskingEvaluator]] = {
    TwoStageEvaluator.name: TwoStageEvaluator.make,
    SingleStageEvaluator.name: SingleStageEvaluator.make,
    TrajectoryJudgeEvaluator.name: TrajectoryJudgeEvaluator.make,
    MilestoneJudgeEvaluator.name: MilestoneJudgeEvaluator.make,
}
"""How each judge is made: `make(language_model=…, model=…, **settings)`."""


def _question(run: Run) -> Question:
    """What there is to judge. Raises _NothingToJudge."""
    if (finding := without_outcome(run)) is not None:
        raise _NothingToJudge(finding)
    spec = run.task.spec
    if not isinstance(spec, dict) or "eval_types" not in spec:
        reason = NO_SPECIFICATION if spec is None else OTHER_SPECIFICATION
        raise _NothingToJudge(Finding.not_applicable(reason))
    hosts: Mapping[str, str] = site.SITE_HOSTS
    try:
        reference = read_reference(resolve(spec, hosts))
    except SpecificationError as error:
        finding = Finding.without_verdict(UNREADABLE_SPECIFICATION, {"error": str(error)})
        raise _NothingToJudge(finding) from error
    if reference is None:
        raise _NothingToJudge(Finding.not_applicable(NO_REFERENCE_ANSWER))
    if unset := placeholders(reference.text):
        raise _NothingToJudge(Finding.without_verdict(PLACEHOLDER, {"placeholder": unset[0]}))
    return Question(
        task=resolve_text(run.goal or run.task.goal, hosts),
        reference=reference,
        answer=run.final_answer or "",
    )


def _published_calls(question: Question, run: Run) -> list[JudgeCall]:
    """The calls that the published evaluator would make, with the answer as it passes it on."""
    evaluation: Mapping[str, object] = resolve(run.task.spec, site.SITE_HOSTS)
    task = MatchTask(
        evaluation={**evaluation, "eval_types": ["string_match"]}, intent=question.task
    )
    found = StrictMatcher().evaluate(task, MatchOutcome(answer=question.answer))
    return list(found.judge_calls)


def _checks(
    question: Question, judged: Judged, other_parts: Sequence[str]
) -> list[dict[str, object]]:
    answer: dict[str, object] = {
        "name": "answer",
        "verdict": judged.verdict.value,
        "expected": question.reference.text,
        "actual": question.answer,
        "normalised": "",
        "message": "" if judged.stages else judged.rationale,
        "rules": [],
    }
    others: list[dict[str, object]] = [
        {"name": part, "verdict": "ignored", "message": NOT_LOOKED_AT} for part in other_parts
    ]
    return [answer, *others]


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
            return _stored_finding(replies.verdict, [])
        counted: list[dict[str, object]] = []
        for name in self.stages:
            verdict = replies.stages.get(name.value)
            if verdict is None:
                return Finding.without_verdict(STAGE_NOT_ASKED)
            counted.append({"name": name.value, "verdict": verdict})
            if verdict != Evaluation.Verdict.FAILED:
                return _stored_finding(verdict, counted)
        return _stored_finding(Evaluation.Verdict.FAILED, counted)


def _stored_finding(verdict: str, stages: Sequence[Mapping[str, object]]) -> Finding:
    if verdict not in Evaluation.Verdict.values or verdict == Evaluation.Verdict.ERROR:
        return Finding.without_verdict(NO_VERDICT)
    found = Evaluation.Verdict(verdict)
    scores = {Evaluation.Verdict.PASSED: 1.0, Evaluation.Verdict.FAILED: 0.0}
    return Finding(verdict=found, score=scores.get(found), details={"stages": list(stages)})
