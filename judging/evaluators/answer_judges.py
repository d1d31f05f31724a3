"""LLM judges of final answers over stored runs, and all judges by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.conf import settings as site
from django.utils.translation import gettext_noop

from judging.evaluators.contract import (
    AskingEvaluator,
    Finding,
    ModelEvaluator,
    finding_of,
    without_outcome,
)
from judging.evaluators.judges.asking import tokens_of
from judging.evaluators.judges.outcome import SINGLE_STAGE, TWO_STAGE, Judged
from judging.evaluators.judges.single_stage import SingleStageJudge, SingleStageSettings
from judging.evaluators.judges.two_stage import Question, TwoStageJudge, TwoStageSettings
from judging.evaluators.matchers import NO_SPECIFICATION, OTHER_SPECIFICATION, PLACEHOLDER
from judging.evaluators.matching.outcome import (
    JudgeCall,
    JudgeKind,
    MatchOutcome,
    MatchTask,
)
from judging.evaluators.matching.specification import (
    ALTERNATIVES,
    Reference,
    SpecificationError,
    other_parts,
    read_reference,
)
from judging.evaluators.matching.strict import StrictMatcher
from judging.evaluators.whole_runs import MilestoneJudgeEvaluator, TrajectoryJudgeEvaluator
from runs.models import Run
from webagent.llm.interface import Request
from webagent.placeholders import placeholders, resolve, resolve_text

NO_REFERENCE_ANSWER = gettext_noop("the task has no reference answer")
NO_CALLS = gettext_noop("the published evaluator asks no judge here")
UNREADABLE_SPECIFICATION = gettext_noop("the task's specification cannot be read")
NOT_LOOKED_AT = gettext_noop("a judge of answers does not look at this")


class _NothingToJudge(Exception):
    """There is nothing to ask about this run; the finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.reason)
        self.finding = finding


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What a run leaves to be judged: the answer and what it is held against."""

    evaluation: Mapping[str, object]
    task: str
    reference: Reference
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerEvaluator(ModelEvaluator):
    """Judges the answer alone: what else the task's specification compares is left to matchers and
    pipelines, and named in the details.
    """

    def applies_to(self, run: Run) -> bool:
        spec = run.task.spec
        kinds = spec.get("eval_types") if isinstance(spec, dict) else None
        return isinstance(kinds, list) and "string_match" in kinds

    def evaluate(self, run: Run) -> Finding:
        try:
            asked = _asked(run)
            judged = self.judged(asked, run)
        except _NothingToJudge as nothing:
            return nothing.finding
        return finding_of(judged, _checks(asked, judged))

    def estimate(self, run: Run) -> tuple[int, int]:
        """Input tokens, roughly, and output tokens at most, if everything is asked."""
        try:
            return tokens_of(self.requests(_asked(run), run))
        except _NothingToJudge:
            return 0, 0

    @abstractmethod
    def judged(self, asked: _Question, run: Run) -> Judged:
        """The model's judgement. Raises _NothingToJudge."""

    @abstractmethod
    def requests(self, asked: _Question, run: Run) -> Sequence[Request]:
        """What it is asked, without repair attempts. Raises _NothingToJudge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageEvaluator(_AnswerEvaluator):
    """`two-stage-judge`: the same meaning as the reference answer, or else its key information."""

    name: ClassVar[str] = TWO_STAGE
    settings_type: ClassVar[type[TwoStageSettings]] = TwoStageSettings

    settings: TwoStageSettings

    def judged(self, asked: _Question, run: Run) -> Judged:
        return self._judge.judge(self._question(asked, run))

    def requests(self, asked: _Question, run: Run) -> Sequence[Request]:
        return self._judge.requests(self._question(asked, run))

    @property
    def _judge(self) -> TwoStageJudge:
        return TwoStageJudge(language_model=self.language_model, settings=self.settings)

    def _question(self, asked: _Question, run: Run) -> Question:
        actions: tuple[str, ...] = ()
        if self.settings.show_actions:
            last = run.steps.order_by("-index").values_list("action", flat=True)
            actions = tuple(reversed(last[: self.settings.show_actions]))
        return Question(
            task=asked.task, reference=asked.reference, answer=asked.answer, actions=actions
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleStageEvaluator(_AnswerEvaluator):
    """`single-stage-judge`: correct or not, as the published evaluator asks it."""

    name: ClassVar[str] = SINGLE_STAGE
    settings_type: ClassVar[type[SingleStageSettings]] = SingleStageSettings

    settings: SingleStageSettings

    def judged(self, asked: _Question, run: Run) -> Judged:
        return self._judge.judge(self._calls(asked))

    def requests(self, asked: _Question, run: Run) -> Sequence[Request]:
        return self._judge.requests(self._calls(asked))

    @property
    def _judge(self) -> SingleStageJudge:
        return SingleStageJudge(language_model=self.language_model, settings=self.settings)

    def _calls(self, asked: _Question) -> list[JudgeCall]:
        if self.settings.calls == "published":
            calls = _published_calls(asked)
            if not calls:
                raise _NothingToJudge(Finding.not_applicable(NO_CALLS))
            return calls
        if asked.reference.reason is not None:
            references, kind = [asked.reference.reason], JudgeKind.UNACHIEVABLE
        else:
            references = [ALTERNATIVES.join(item) for item in asked.reference.items]
            kind = JudgeKind.FUZZY
        return [
            JudgeCall(judge=kind, reference=reference, answer=asked.answer, question=asked.task)
            for reference in references
        ]


JUDGES: Mapping[str, Callable[..., AskingEvaluator]] = {
    TwoStageEvaluator.name: TwoStageEvaluator.make,
    SingleStageEvaluator.name: SingleStageEvaluator.make,
    TrajectoryJudgeEvaluator.name: TrajectoryJudgeEvaluator.make,
    MilestoneJudgeEvaluator.name: MilestoneJudgeEvaluator.make,
}
"""How each judge is made: `make(language_model=…, model=…, **settings)`."""


def _asked(run: Run) -> _Question:
    """What there is to judge. Raises _NothingToJudge."""
    if (finding := without_outcome(run)) is not None:
        raise _NothingToJudge(finding)
    spec = run.task.spec
    if not isinstance(spec, dict) or "eval_types" not in spec:
        reason = NO_SPECIFICATION if spec is None else OTHER_SPECIFICATION
        raise _NothingToJudge(Finding.not_applicable(reason))
    hosts: Mapping[str, str] = site.SITE_HOSTS
    evaluation: Mapping[str, object] = resolve(spec, hosts)
    try:
        reference = read_reference(evaluation)
    except SpecificationError as error:
        finding = Finding.without_verdict(UNREADABLE_SPECIFICATION, {"error": str(error)})
        raise _NothingToJudge(finding) from error
    if reference is None:
        raise _NothingToJudge(Finding.not_applicable(NO_REFERENCE_ANSWER))
    if unset := placeholders(reference.text):
        raise _NothingToJudge(Finding.without_verdict(PLACEHOLDER, {"placeholder": unset[0]}))
    return _Question(
        evaluation=evaluation,
        task=resolve_text(run.goal or run.task.goal, hosts),
        reference=reference,
        answer=run.final_answer or "",
    )


def _published_calls(asked: _Question) -> list[JudgeCall]:
    """The calls that the published evaluator would make, with the answer as it passes it on."""
    task = MatchTask(
        evaluation={**asked.evaluation, "eval_types": ["string_match"]}, intent=asked.task
    )
    found = StrictMatcher().evaluate(task, MatchOutcome(answer=asked.answer))
    return list(found.judge_calls)


def _checks(asked: _Question, judged: Judged) -> list[dict[str, object]]:
    answer: dict[str, object] = {
        "name": "answer",
        "verdict": judged.verdict.value,
        "expected": asked.reference.text,
        "actual": asked.answer,
        "normalised": "",
        "message": "" if judged.stages else judged.rationale,
        "rules": [],
    }
    others: list[dict[str, object]] = [
        {"name": part, "verdict": "ignored", "message": NOT_LOOKED_AT}
        for part in other_parts(asked.evaluation)
    ]
    return [answer, *others]
