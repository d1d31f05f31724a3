"""What a task's page shows of milestones that a model proposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django import forms
from django.db.models import Case, Exists, OuterRef, Value, When
from django.utils.translation import gettext_lazy as _

from judging.analysis.milestone_proposals.services import ProposalsMade, request_for
from judging.evaluating.services import cost_of
from judging.evaluators.judges.asking import tokens_of
from judging.evaluators.judges.milestones import ProposalSettings
from judging.evaluators.registry import how_to_configure
from judging.models import ReferenceVerdict
from runs.catalogue.agents.choices import ModelUnavailableError, offered_models
from runs.models import LearningItem, LearningJob, Run, RunStatus, Task
from webagent.milestones.findings import MAX_NAME, MAX_WEIGHT, Definition


class ProposalForm(forms.Form):
    """One proposal, to be worded otherwise, accepted or rejected."""

    chosen = forms.BooleanField(label=_("Select"), required=False)
    name = forms.CharField(label=_("Milestone"), max_length=MAX_NAME)
    weight = forms.FloatField(label=_("Weight"), min_value=0.001, max_value=MAX_WEIGHT)
    is_ordered = forms.BooleanField(label=_("in order"), required=False)

    @property
    def is_ticked(self) -> bool:
        """Whether it was sent with its box ticked, valid or not."""
        return self.is_bound and self.add_prefix("chosen") in self.data

    def definition(self) -> Definition:
        """The milestone as the person has worded it. Call it when valid."""
        given = self.cleaned_data
        return Definition(
            name=given["name"], weight=given["weight"], is_ordered=given["is_ordered"]
        )


class Open(NamedTuple):
    """A proposal that nobody has decided about yet."""

    number: int
    rationale: str
    form: ProposalForm


class Offer(NamedTuple):
    """A model that can be asked, and what that is expected to cost; None where unknown."""

    name: str
    cost: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalsPage:
    """The newest question about a task, and what a new one would take."""

    task: Task
    job: LearningJob | None
    made: ProposalsMade
    problem: str
    item: LearningItem | None
    open: Sequence[Open]
    runs: Sequence[UUID]
    """Successful runs that a new question would tell of."""
    offers: Sequence[Offer]
    missing: str
    """Why no model can be asked; empty if one can."""

    @property
    def chosen(self) -> dict[int, ProposalForm]:
        """The forms that are ticked in what was sent, by number."""
        return {each.number: each.form for each in self.open if each.form.is_ticked}

    @property
    def accepted(self) -> int:
        return list(self.made.decisions.values()).count("accepted")

    @property
    def rejected(self) -> int:
        return list(self.made.decisions.values()).count("rejected")


def successful_runs(task: Task) -> list[UUID]:
    """Runs of the task that succeeded by people, or else by its benchmark; short ones first."""
    spoken = ReferenceVerdict.objects.filter(run=OuterRef("pk"), is_authoritative=True)
    succeeded = spoken.filter(verdict=ReferenceVerdict.Verdict.SUCCESS)
    runs = (
        Run.objects.filter(task=task, status__in=RunStatus.ended(), superseded=False, n_steps__gt=0)
        .annotate(by=Case(When(Exists(succeeded), then=Value(0)), default=Value(1)))
        .exclude(Exists(spoken.exclude(verdict=ReferenceVerdict.Verdict.SUCCESS)))
        .exclude(by=1, outcome__in=[each for each in Run.Outcome if each != Run.Outcome.SUCCESS])
    )
    most = ProposalSettings(model="any").most_runs
    return list(runs.order_by("by", "n_steps", "pk").values_list("pk", flat=True)[:most])


def proposals_page(task: Task, sent: Any = None) -> ProposalsPage:
    """What is known of a task's proposals.

    Args:
        sent: the form's fields, to show them again with what is wrong.
    """
    jobs = LearningJob.objects.filter(kind=LearningJob.Kind.MILESTONES, params__task=task.pk)
    job = jobs.order_by("-created_at").first()
    item = job.items.first() if job else None
    made = ProposalsMade.model_validate(item.result if item else {})
    runs = successful_runs(task)
    offers, missing = _offers(task, runs)
    return ProposalsPage(
        task=task,
        job=job,
        made=made,
        problem=(job.problem if job else "") or (item.problem if item else ""),
        item=item,
        open=_open(made, sent),
        runs=runs,
        offers=offers,
        missing=missing,
    )


def _open(made: ProposalsMade, sent: Any) -> list[Open]:
    found = []
    for number, each in enumerate(made.proposals):
        if number not in made.decisions:
            initial = each.model_dump() | {"weight": f"{each.weight:g}"}
            form = ProposalForm(sent, prefix=f"proposal-{number}", initial=initial)
            found.append(Open(number, each.rationale, form))
    return found


def _offers(task: Task, runs: Sequence[UUID]) -> tuple[list[Offer], str]:
    """The models that can be asked, or why none can."""
    try:
        usable = [offer for offer in offered_models() if not offer.missing]
    except ModelUnavailableError as error:
        return [], str(error)
    if not usable:
        return [], how_to_configure()
    tokens = tokens_of([request_for(task, runs, usable[0].name)])
    return [Offer(name=each.name, cost=cost_of(*tokens, each.entry)) for each in usable], ""
