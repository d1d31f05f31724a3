"""How often the infrastructure failed, by its classes: kept apart from what agents did.

Counted are attempts, every one for itself: a trial that got through at the third attempt has
two that did not. Imported runs of other tools are left out, because they do not say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Count, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.interface.requests import AppRequest
from runs.launching.reruns.views import may_rerun
from runs.launching.sites import last_known, site_states
from runs.models import Run
from runs.models.visibility import visibility_of
from runs.operations.health.checks import neglected
from webagent.measures import wilson_bounds

if TYPE_CHECKING:
    from runs.models.runs.queries import RunQuerySet


@dataclass(frozen=True, slots=True)
class FaultCount:
    """How many attempts ended in one class of infrastructure errors."""

    fault: str
    attempts: int

    @property
    def words(self) -> str:
        return str(Run.Fault(self.fault).label)


@dataclass(slots=True)
class ErrorRate:
    """The attempts of one group: an agent, a site, an experiment, or all (empty name).

    `trials` are the same work counted once, however many attempts it took; `never_through` are
    those whose last attempt ended in an infrastructure error too.
    """

    name: str
    attempts: int = 0
    trials: int = 0
    never_through: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    """Errors by their class."""

    def add(self, fault: str, superseded: bool, n: int) -> None:
        """Count so many attempts; an empty `fault` is no error."""
        self.attempts += n
        self.trials += 0 if superseded else n
        self.never_through += n if fault and not superseded else 0
        if fault:
            self.counted[fault] += n

    @property
    def errors(self) -> int:
        return self.counted.total()

    @property
    def faults(self) -> list[FaultCount]:
        """Most frequent first."""
        ordered = sorted(self.counted.items(), key=lambda item: (-item[1], item[0]))
        return [FaultCount(fault, n) for fault, n in ordered]

    @property
    def share(self) -> float | None:
        """Share of attempts that an infrastructure error ended; None if there are none."""
        return self.errors / self.attempts if self.attempts else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % Wilson interval."""
        return wilson_bounds(self.errors, self.attempts) if self.attempts else None


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """All attempts, and the same by agent configuration, by site and by experiment."""

    overall: ErrorRate
    by_agent: tuple[ErrorRate, ...]
    by_site: tuple[ErrorRate, ...]
    by_experiment: tuple[ErrorRate, ...]


def error_rates(runs: RunQuerySet[Run], names: Mapping[int, str] | None = None) -> ErrorRates:
    """The rates of infrastructure errors among these runs' attempts, in one query.

    Give it all attempts, replaced ones included, and only runs of which the reader may know
    outcome and agent.

    Args:
        names: what the page calls configurations, by their key, where it tells those of one agent
            and model apart.
    """
    names = names or {}
    counted: QuerySet[Run, tuple[int, str, str, str, str | None, str, bool, int]] = (
        runs.attempts()
        .order_by()
        .values_list(
            "agent",
            "agent__name",
            "agent__model",
            "task__site",
            "experiment__name",
            "fault",
            "superseded",
        )
        .annotate(n=Count("pk"))
    )
    overall = ErrorRate("")
    groups: tuple[dict[str, ErrorRate], ...] = ({}, {}, {})
    for key, name, model, site, experiment, fault, superseded, n in counted:
        agent = names.get(key) or " · ".join(filter(None, (name, model)))
        overall.add(fault, superseded, n)
        for group, kind in zip(groups, (agent, site, experiment or ""), strict=True):
            group.setdefault(kind, ErrorRate(kind)).add(fault, superseded, n)
    return ErrorRates(overall, *(_worst_first(group.values()) for group in groups))


def _worst_first(rates: Iterable[ErrorRate]) -> tuple[ErrorRate, ...]:
    return tuple(sorted(rates, key=lambda rate: (-(rate.share or 0), rate.name)))


MOST_ATTEMPTS = 2_000
"""The newest attempts, which rates are taken of."""


@require_safe
@may_rerun
def infrastructure(request: AppRequest) -> HttpResponse:
    """Rates of infrastructure errors, over the runs of which the person may know all."""
    runs = Run.objects.visible_with(visibility_of(request.user)).not_blind().not_anonymous()
    newest = runs.attempts().order_by("-created_at", "-pk").values("pk")[:MOST_ATTEMPTS]
    context = {
        "rates": error_rates(Run.objects.filter(pk__in=newest)),
        "most": MOST_ATTEMPTS,
        "asks_sites": bool(settings.SITE_HOSTS),
        "sites": last_known(),
        "stuck": sorted(neglected()),
    }
    return render(request, "runs/operations/infrastructure.html", context)


@require_safe
@may_rerun
def infrastructure_sites(request: AppRequest) -> HttpResponse:
    """The configured sites as they are now, as a fragment; takes as long as they take to answer."""
    return render(request, "runs/operations/_sites.html", {"sites": site_states()})
