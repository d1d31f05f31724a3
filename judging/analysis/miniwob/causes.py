"""Why failures failed, configuration by configuration: what people say of the sample, and how
they are led through it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.population import Neighbours, neighbours, run_after
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import Scope, scope_for
from judging.analysis.miniwob.figures import NOTE
from judging.analysis.miniwob.proposing import Fault
from judging.analysis.miniwob.reports import OWN, PUBLISHED, rule_note
from judging.analysis.reports.report import Column, Report, Value, counted, in_files
from judging.models import FailureCause, FailureCauseTag, FailureSample, SampledFailure
from judging.statistics.figures import Share
from judging.studies.access import TAG_FAILURES
from judging.studies.forms import StatementForm, note_field
from runs.models import Experiment, User
from runs.models.parsing import read_number

LONGEST_NOTE = 2000


class FailureCauseForm(StatementForm):
    """Exactly one cause, and a note."""

    KEYS = {"cause": "123"}
    AUTO_ID = "why_%s"

    cause = forms.ChoiceField(
        label=_("what failed"),
        choices=FailureCause.choices,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose one.")},
    )
    note = note_field(LONGEST_NOTE)


PUBLISHED_CAUSES = (("gpt-3.5-turbo-16k", (21, 70, 9)), ("gpt-4", (42, 49, 9)))
"""Of 100 failures drawn at random, by cause, as the source printed them."""
_LISTED = (
    *("sample_id", "position", "proposal", "run__goal", "run__seed", "run__end_reason"),
    *("run__n_steps", "run__task__goal", "run__task__external_id"),
)
"""Runs and tasks have large columns, which a list has no use for."""


class SampleFigures:
    """The newest sample of one configuration, as far as it may be told."""

    def __init__(self, sample: FailureSample, name: str, rows: Sequence[tuple[str, str]]) -> None:
        both = [(cause, proposed) for cause, proposed in rows if cause and proposed]
        self.sample, self.name, self.drawn = sample, name, len(rows)
        self.tagged = Counter(cause for cause, _ in rows if cause)
        self.proposed = Counter(proposed for _, proposed in rows if proposed)
        self.confirmed = Share(sum(cause == proposed for cause, proposed in both), len(both))
        """Of the proposals that people looked at, those they agree with."""

    @property
    def told(self) -> int:
        """n: failures of which somebody said why."""
        return sum(self.tagged.values())

    @property
    def untold(self) -> int:
        return self.drawn - self.told

    @property
    def shares(self) -> Sequence[tuple[FailureCause, Share, int]]:
        """Every cause with its share of the failures told, and how often it is proposed."""
        return [
            (cause, Share(self.tagged[cause], self.told), self.proposed[cause])
            for cause in FailureCause
        ]


def causes_of(scope: Scope) -> list[SampleFigures]:
    """The newest sample of every configuration, in three queries."""
    names = names_in(scope)
    newest: dict[int, FailureSample] = {}
    for sample in FailureSample.objects.filter(experiment=scope.experiment).order_by("pk"):
        if sample.agent_id in names:
            newest[sample.agent_id] = sample
    rows: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    told = _with_causes(sampled(scope, newest.values()))
    for pk, cause, proposed in told.values_list("sample", "cause", "proposal__cause"):
        rows[pk].append((cause or "", FailureCause.known(proposed) or ""))
    found = [
        SampleFigures(sample, names[agent], rows[sample.pk])
        for agent, sample in newest.items()
        if rows[sample.pk]
    ]
    return sorted(found, key=lambda each: (each.name, each.sample.pk))


FailureRow = tuple[SampledFailure, FailureCause | None]
"""A sampled failure with its run and task, and what people say of it."""


def failure_rows(
    scope: Scope, samples: Iterable[FailureSample]
) -> Mapping[int, Sequence[FailureRow]]:
    """The failures of each sample that may be told, in their order; by the sample's id."""
    rows = _with_causes(sampled(scope, samples)).select_related("run__task").only(*_LISTED)
    listed: defaultdict[int, list[FailureRow]] = defaultdict(list)
    for row in rows.order_by("sample", "position"):
        listed[row.sample_id].append((row, FailureCause.known(row.cause)))
    return listed


def sampled(scope: Scope, samples: Iterable[FailureSample]) -> QuerySet[SampledFailure]:
    """The failures of the samples that may be told."""
    return SampledFailure.objects.filter(
        sample__in=[sample.pk for sample in samples], run__in=scope.visible.order_by().values("pk")
    )


def next_untold(scope: Scope, sample: FailureSample, after: int) -> UUID | None:
    """The next failure of which nobody has said why, from the first again after the last."""
    rows = _with_causes(sampled(scope, [sample]))
    return run_after(rows.filter(Q(cause=None) | Q(cause="")), after)


def _with_causes(rows: QuerySet[SampledFailure]) -> QuerySet[Any]:
    """Each with the current `cause` of its run: empty where it was taken back, or none was said."""
    word = FailureCauseTag.objects.filter(run=OuterRef("run"), is_current=True)
    told: QuerySet[Any] = rows.annotate(cause=Subquery(word.values("cause")))
    return told


def causes(facts: Facts) -> Report:
    """Why failures of the sample failed: a row a configuration and cause."""
    samples = causes_of(facts.scope)
    rows: list[list[Value]] = [
        [OWN, each.name, cause.value, *counted(share), proposed, each.drawn, each.sample.seed]
        for each in samples
        for cause, share, proposed in each.shares
    ]
    if samples:
        rows += [
            [PUBLISHED, name, cause.value, n, 100, n / 100, *[None] * 5]
            for name, found in PUBLISHED_CAUSES
            for cause, n in zip(FailureCause, found, strict=True)
        ]
    return Report(
        columns=[
            Column("origin", _("figures")),
            Column("configuration", _("configuration")),
            Column("cause", _("what failed")),
            Column("failures", _("failures")),
            Column("n", _("tagged")),
            Column("value", _("share")),
            in_files("low"),
            in_files("high"),
            Column("proposed", _("proposed")),
            in_files("drawn"),
            in_files("seed"),
        ],
        rows=rows,
        counts=[rule_note()],
        notes=[
            gettext(
                "Failures drawn at random; shares of those that people tagged, with Wilson's "
                "interval."
            ),
            gettext(
                "Only vision is proposed: where the page shows that something needed was not seen."
            ),
            str(NOTE),
        ],
    )


MOST_FINDINGS = 5
DEFINITIONS: dict[FailureCause, Promise] = {
    FailureCause.VISION: _("What it was told of the screen was wrong, or left out what mattered."),
    FailureCause.REASONING: _("It was told the screen rightly, and decided wrongly."),
    FailureCause.OTHER: _("The environment, the judging of the task, or something else."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCausePane:
    """One failure of a sample: its form, what is proposed, and what was said."""

    sample: FailureSample
    row: SampledFailure
    history: Sequence[FailureCauseTag]
    """What was said of the run, the newest first."""
    neighbours: Neighbours

    @property
    def form(self) -> FailureCauseForm:
        """As the failure is tagged, whatever is proposed."""
        return FailureCauseForm.about(self.current)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What speaks for the proposal: a handful of elements that were needed and not seen."""
        found = (self.row.proposal or {}).get("findings", [])[:MOST_FINDINGS]
        return [each | {"fault": Fault(each["fault"]).label} for each in found]

    @property
    def current(self) -> FailureCauseTag | None:
        """What counts; None where nothing does, or it was taken back."""
        return next((each for each in self.history if each.is_current and each.cause), None)

    @property
    def definitions(self) -> list[tuple[str, Promise]]:
        return [(str(cause.label), words) for cause, words in DEFINITIONS.items()]


def scope_to_tag(user: User, experiment_pk: int) -> Scope | None:
    """What the person may know of the experiment; None where they may know of none of its runs.

    Its very name would tell them who acted.
    """
    experiment = Experiment.objects.visible_to(user).filter(pk=experiment_pk).first()
    scope = experiment and scope_for(user, experiment)
    return scope if scope and scope.visible.exists() else None


def walked_failure(user: User, sample: str, run_id: UUID) -> FailureCausePane | None:
    """The form for a run of the sample that an address names; None if not for this person."""
    number = read_number(sample)
    drawn = None if number is None else FailureSample.objects.filter(pk=number).first()
    if drawn is None or not user.has_perm(TAG_FAILURES):
        return None
    scope = scope_to_tag(user, drawn.experiment_id)
    if scope is None:
        return None
    rows = sampled(scope, [drawn]).order_by("position")
    beside = neighbours(rows, run_id)
    if beside is None:
        return None
    said = FailureCauseTag.objects.filter(run=run_id).select_related("by")
    return FailureCausePane(
        sample=drawn,
        row=rows.select_related("run__task").defer("run__record", "run__evidence").get(run=run_id),
        history=list(said.order_by("-at", "-id")),
        neighbours=beside,
    )
