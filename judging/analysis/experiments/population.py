"""Who says whether a run succeeded (one source at a time, always named, never mixed), which runs of
an experiment count, and where each stands by that source.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db import models
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Count,
    Exists,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.matrices import LEAST_COVERAGE
from judging.analysis.audits.verdict_sources import in_order
from judging.analysis.counting import tally
from judging.evaluators.matchers import RewardEvaluator
from judging.models import Evaluation, EvaluatorVersion, ReferenceVerdict
from runs.interface import sentences as words
from runs.interface.paging import COUNTED_AT_ONCE, count_rows
from runs.models import Experiment, Run, RunStatus, Task, User
from runs.models.runs.queries import RunQuerySet

REWARD, REFERENCE, EVALUATOR = "reward", "reference", "evaluator:"
SUCCESS, FAILURE = "success", "failure"
_LARGEST_NUMBER = 1e308
"""Rewards beyond it are infinite or no numbers at all, and say nothing."""
_REWARDED = Q(reward__gt=-_LARGEST_NUMBER, reward__lt=_LARGEST_NUMBER)
_SETTLED: Mapping[str, Any] = {
    "is_authoritative": True,
    "verdict__in": [ReferenceVerdict.Verdict.SUCCESS, ReferenceVerdict.Verdict.FAILURE],
}
_SPOKEN: Mapping[str, Any] = {
    "is_current": True,
    "verdict__in": [Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED],
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where verdicts are taken from: the benchmark's reward, people, or one evaluator version."""

    evaluator: EvaluatorVersion | None = None
    is_reference: bool = False

    @property
    def key(self) -> str:
        """Its name in an address and a command: `reward`, `reference` or `evaluator:12`."""
        if self.evaluator is not None:
            return f"{EVALUATOR}{self.evaluator.pk}"
        return REFERENCE if self.is_reference else REWARD

    @property
    def name(self) -> str:
        if self.evaluator is not None:
            return gettext(words.EVALUATOR) % {"name": self._evaluator_name}
        if self.is_reference:
            return gettext(words.REFERENCE_VERDICT)
        return gettext(words.IMPORTED_REWARD)

    @property
    def rule(self) -> str:
        """What counts as success by it."""
        if self.evaluator is not None:
            return gettext(words.EVALUATOR_RULE) % {"name": self._evaluator_name}
        if self.is_reference:
            return gettext(words.REFERENCE_RULE)
        return gettext(words.REWARD_RULE) % {"least": f"{_success_above():g}"}

    @property
    def _evaluator_name(self) -> str:
        """The evaluator's short name where it was read as the only one of that name."""
        evaluator = self.evaluator
        if evaluator is None:
            return ""
        return evaluator.shown if getattr(evaluator, "has_namesake", True) else evaluator.title

    @property
    def tells_judgements(self) -> bool:
        """Whether to see it of a run is to see what an audit shows."""
        return self.evaluator is not None or self.is_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A source that can be chosen, with how many runs have a verdict from it."""

    source: Source
    verdicts: int
    is_more: bool = False
    """Whether there are more, which were not counted."""


def _versions() -> QuerySet[EvaluatorVersion]:
    """The evaluators, with whether there is another version of theirs: `has_namesake`."""
    others = EvaluatorVersion.objects.filter(name=OuterRef("name")).exclude(pk=OuterRef("pk"))
    return EvaluatorVersion.objects.annotate(has_namesake=Exists(others))


def read_source(text: str) -> Source:
    """The source of an address. Raises ValueError where there is no such source."""
    if text == REWARD:
        return Source()
    if text == REFERENCE:
        return Source(is_reference=True)
    number = text.removeprefix(EVALUATOR)
    if text.startswith(EVALUATOR) and number.isdecimal():
        evaluator = _versions().filter(pk=int(number)).first()
        if evaluator is not None:
            return Source(evaluator)
    raise ValueError(
        f"{text} gives no verdicts: it takes reward, reference, or evaluator: and a number or name"
    )


def with_said(runs: QuerySet[Any], source: Source) -> QuerySet[Any]:
    """The runs with `said`: success, failure, or NULL where the source gives no verdict.

    Adds nothing else that may be read; blindness is the caller's.
    """
    if source.evaluator is None and not source.is_reference:
        success = Q(reward__gt=_success_above(), reward__lt=_LARGEST_NUMBER)
        failure = Q(reward__lte=_success_above(), reward__gt=-_LARGEST_NUMBER)
    else:
        if source.evaluator is not None:
            of_source = Q(evaluations__evaluator=source.evaluator, evaluations__is_current=True)
            relation = FilteredRelation("evaluations", condition=of_source)
            verdicts = (Evaluation.Verdict.PASSED.value, Evaluation.Verdict.FAILED.value)
        else:
            relation = FilteredRelation("verdicts", condition=Q(verdicts__is_authoritative=True))
            verdicts = (SUCCESS, FAILURE)
        success, failure = (Q(source_verdict__verdict=word) for word in verdicts)
        runs = runs.annotate(source_verdict=relation)
    told: QuerySet[Any] = runs.annotate(
        said=Case(
            When(success, then=Value(SUCCESS)),
            When(failure, then=Value(FAILURE)),
            default=Value(None),
            output_field=CharField(null=True),
        )
    )
    return told


def choices_among(counted: QuerySet[Any]) -> list[Choice]:
    """The sources with what they say of the counted runs, in three queries.

    Reward and reference verdict are always offered; evaluators where they say something.
    """
    ids = counted.order_by().values("pk")
    settled = ReferenceVerdict.objects.filter(run=OuterRef("pk"), **_SETTLED)
    counts = counted.order_by().aggregate(
        rewarded=Count("pk", filter=_REWARDED), settled=Count("pk", filter=Exists(settled))
    )
    spoken = tally(Evaluation.objects.filter(run__in=ids, **_SPOKEN), "evaluator")
    versions = in_order(_versions().filter(pk__in=spoken))
    return [
        Choice(source=Source(), verdicts=counts["rewarded"]),
        Choice(source=Source(is_reference=True), verdicts=counts["settled"]),
        *(Choice(source=Source(each), verdicts=spoken[each.pk]) for each in versions),
    ]


def choices_up_to_a_bound(counted: QuerySet[Any]) -> list[Choice]:
    """The same without reading all that was ever said: each up to `COUNTED_AT_ONCE`."""
    said_of = Exists(counted.order_by().filter(pk=OuterRef("run")))
    settled = ReferenceVerdict.objects.filter(said_of, **_SETTLED)
    found = [
        _bounded(Source(), counted.filter(_REWARDED)),
        _bounded(Source(is_reference=True), settled),
    ]
    for version in in_order(_versions()):
        spoken = Evaluation.objects.filter(said_of, evaluator=version, **_SPOKEN)
        found.append(_bounded(Source(version), spoken))
    return [each for each in found if each.verdicts or each.source.evaluator is None]


def _bounded(source: Source, rows: QuerySet[Any]) -> Choice:
    counted = count_rows(rows, most=COUNTED_AT_ONCE)
    return Choice(source=source, verdicts=counted.number, is_more=counted.is_more)


def default_source(choices: Sequence[Choice]) -> Source:
    """The reward where a run has one; else people, unless an evaluator speaks of far more runs."""
    named = {each.source.key: each for each in choices}
    if named[REWARD].verdicts:
        return named[REWARD].source
    most = max(choices, key=lambda each: each.verdicts)
    people = named[REFERENCE]
    are_enough = people.verdicts and people.verdicts >= LEAST_COVERAGE * most.verdicts
    return (people if are_enough else most).source


def _success_above() -> float:
    return RewardEvaluator().success_above


class RunResult(models.TextChoices):
    """Where a run stands. The first three count; the others are left out, and shown so."""

    SUCCESS = SUCCESS, _("success")
    FAILURE = FAILURE, _("failure")
    NONE = "none", _("no verdict")
    ERROR = "error", _("ended in an error")
    INCOMPLETE = "incomplete", _("broken off")
    NOT_EXECUTABLE = "not_executable", _("not executable")
    INFEASIBLE = "infeasible", _("with an infeasible task")
    WAITING = "waiting", _("not ended yet")
    SUPERSEDED = "superseded", _("replaced by a later attempt")
    HIDDEN = "hidden", _("still judged by you")


DECIDED = (RunResult.SUCCESS, RunResult.FAILURE)
COUNTED = (*DECIDED, RunResult.NONE)
LEFT_OUT: Mapping[RunResult, Any] = {each: each.label for each in RunResult if each not in COUNTED}
"""The runs that no figure counts, by why."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The runs of an experiment that somebody may know of; `is_hidden` marks what they may not."""

    experiment: Experiment
    runs: QuerySet[Any]

    @property
    def visible(self) -> RunQuerySet[Run]:
        """The runs of which everything may be told, earlier attempts among them."""
        return cast("RunQuerySet[Run]", self.runs.filter(is_hidden=False))

    def standing(self, source: Source) -> QuerySet[Any]:
        """The runs with `standing`, a word of `RunResult`, under this source."""
        said = with_said(self.runs, source)
        standing: QuerySet[Any] = said.annotate(standing=_STANDING).order_by()
        return standing

    def counted(self, source: Source) -> QuerySet[Any]:
        """Those that figures speak of, with or without a verdict."""
        return self.standing(source).filter(standing__in=COUNTED)

    def counts(
        self, source: Source, *columns: str, among: Sequence[RunResult] = COUNTED
    ) -> Counter[Any]:
        """How many runs that stand so share the values of these columns; one query."""
        return tally(self.standing(source).filter(standing__in=among), *columns)


def scope_for(user: User, experiment: Experiment) -> Scope:
    """What the person may know: runs on whose task they are blind are marked as hidden.

    Runs whose agent is hidden from them are not even counted as such: that they belong to this
    experiment would tell who acted.
    """
    # None of a run that is hidden is told, and no other run of its task is either: the same
    # specification, mark as infeasible and kind of evaluation would be told with it.
    hidden = Q(is_blind=True) | Task.objects.is_sealed(user, "task")
    runs: Any = Run.objects.filter(experiment=experiment).visible_to(user).not_anonymous()
    mark = Case(When(hidden, then=True), default=False, output_field=BooleanField())
    return Scope(experiment, runs.annotate(is_hidden=mark))


def whole_scope(experiment: Experiment) -> Scope:
    """All runs, for commands."""
    runs: Any = Run.objects.filter(experiment=experiment)
    return Scope(experiment, runs.annotate(is_hidden=Value(False)))


_NOT_EXECUTABLE = Exists(
    ReferenceVerdict.objects.filter(
        run=OuterRef("pk"), is_authoritative=True, verdict=ReferenceVerdict.Verdict.NOT_EXECUTABLE
    )
)
# The order tells which reason is given to a run with several, and hides before it tells.
_STANDING = Case(
    When(is_hidden=True, then=Value(RunResult.HIDDEN.value)),
    When(superseded=True, then=Value(RunResult.SUPERSEDED.value)),
    When(Task.objects.is_infeasible("task"), then=Value(RunResult.INFEASIBLE.value)),
    When(status__in=RunStatus.active(), then=Value(RunResult.WAITING.value)),
    When(outcome=Run.Outcome.ERROR, then=Value(RunResult.ERROR.value)),
    When(outcome=Run.Outcome.INCOMPLETE, then=Value(RunResult.INCOMPLETE.value)),
    When(outcome=Run.Outcome.NOT_EXECUTABLE, then=Value(RunResult.NOT_EXECUTABLE.value)),
    When(_NOT_EXECUTABLE, then=Value(RunResult.NOT_EXECUTABLE.value)),
    When(said=SUCCESS, then=Value(RunResult.SUCCESS.value)),
    When(said=FAILURE, then=Value(RunResult.FAILURE.value)),
    default=Value(RunResult.NONE.value),
    output_field=CharField(),
)
