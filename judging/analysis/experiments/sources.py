"""Who says whether a run succeeded: one source at a time, always named, never mixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError
from django.db.models import (
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
from django.utils.translation import gettext as _

from judging.analysis.audits.matrices import LEAST_COVERAGE
from judging.analysis.audits.verdict_sources import in_order
from judging.analysis.counting import tally
from judging.evaluators.matchers import RewardEvaluator
from judging.models import Evaluation, EvaluatorVersion, ReferenceVerdict
from runs.interface import sentences as words
from runs.interface.paging import COUNTED_AT_ONCE, count_rows

REWARD, REFERENCE, EVALUATOR = "reward", "reference", "evaluator:"
SUCCESS, FAILURE = "success", "failure"
_LARGEST_NUMBER = 1e308
"""Rewards beyond it are infinite or no numbers at all, and say nothing."""
_RELATION = "source_verdict"
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
            return _(words.EVALUATOR) % {"name": self._evaluator_name}
        if self.is_reference:
            return _(words.REFERENCE_VERDICT)
        return _(words.IMPORTED_REWARD)

    @property
    def rule(self) -> str:
        """What counts as success by it."""
        if self.evaluator is not None:
            return _(words.EVALUATOR_RULE) % {"name": self._evaluator_name}
        if self.is_reference:
            return _(words.REFERENCE_RULE)
        return _(words.REWARD_RULE) % {"least": f"{_success_above():g}"}

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


def source_named(text: str) -> Source:
    """The source as a command names it: an evaluator also by its name, or name and version.

    Raises ValueError where there is no such source, or the name fits several versions.
    """
    name = text.removeprefix(EVALUATOR)
    if not text.startswith(EVALUATOR) or name.isdecimal():
        return read_source(text)
    fitting = [each for each in EvaluatorVersion.objects.all() if name in (each.name, str(each))]
    if len(fitting) == 1:
        return Source(fitting[0])
    if not fitting:
        there = ", ".join(sorted({each.name for each in EvaluatorVersion.objects.all()}))
        raise ValueError(f"there is no evaluator {name}; those that said something here: {there}")
    versions = ", ".join(f"{EVALUATOR}{each.pk} is {each}" for each in fitting)
    raise ValueError(f"{name} has several versions: {versions}")


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
            words = (Evaluation.Verdict.PASSED.value, Evaluation.Verdict.FAILED.value)
        else:
            relation = FilteredRelation("verdicts", condition=Q(verdicts__is_authoritative=True))
            words = (SUCCESS, FAILURE)
        success, failure = (Q(**{f"{_RELATION}__verdict": word}) for word in words)
        runs = runs.annotate(**{_RELATION: relation})
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


def verdict_source(named: str) -> Source:
    """The source of verdicts of that name. Raises CommandError where there is none."""
    try:
        return source_named(named)
    except ValueError as error:
        raise CommandError(str(error)) from error
