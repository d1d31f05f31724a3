"""Who may read the figures of an experiment, what addresses and commands ask, and what all pages
of it show.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.experiments.facts import LARGEST_K, Facts, ReportQuery
from judging.analysis.experiments.pairs import By
from judging.analysis.experiments.population import EVALUATOR, Scope, Source, read_source, scope_for
from judging.analysis.experiments.selection import Selection
from judging.analysis.failure_modes.sources import ModeSource
from judging.analysis.progress.rows import Difficulty
from judging.analysis.progress.sources import read_progress_source
from judging.models import EvaluatorVersion, Study, StudyItem
from judging.statistics.progress import ALPHA
from judging.studies.access import AUDIT, record_unblindings, studies_hidden_from
from runs.interface.requests import AppRequest, demand
from runs.launching.experiments.progress import progress_of_each
from runs.models import Experiment, User
from runs.models.parsing import read_amount, read_choice, read_whole
from runs.operations.error_views import bad_queries

PERMISSIONS = ("runs.view_experiment", AUDIT)
"""Figures tell verdicts, so they are for those who may read audits."""

READ = "runs of an experiment"
"""Why a reading of verdicts is recorded."""
P = ParamSpec("P")
T = TypeVar("T")
View = Callable[..., HttpResponseBase]


def for_readers(view: Callable[Concatenate[AppRequest, Scope, P], HttpResponseBase]) -> View:
    """A page or a file for those who may read figures of experiments: what they may know of one."""

    @require_safe
    @vary_on_headers("HX-Request")
    @wraps(view)
    def guarded(
        request: AppRequest, experiment_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        demand(request.user, *PERMISSIONS)
        return view(request, scope_of(request, experiment_id), *args, **kwargs)

    return guarded


def scope_of(request: AppRequest, experiment_id: int) -> Scope:
    """What the person may know of the experiment; 404 where they may not know its name."""
    experiments = Experiment.objects.visible_to(request.user)
    return scope_for(request.user, get_object_or_404(experiments, pk=experiment_id))


def facts_of(request: AppRequest, scope: Scope) -> Facts:
    """The experiment under what the address asks. 404 for a value that there is not."""
    source = None
    if "verdict" in request.GET:  # an empty one is none, and does not ask for the default
        source = _read(read_source, "verdict", request.GET["verdict"])
    modes_by = request.GET.get("by", "")
    query = ReportQuery(
        source=source,
        selector=read_value(request, "selector", read_source),
        by=read_value(request, "pair", By),
        modes_by=ModeSource(modes_by) if modes_by in set(ModeSource) else ModeSource.KNOWN,
    )
    return Facts(scope, query)


def progress_facts_of(request: AppRequest, scope: Scope) -> Facts:
    """The same with whose progress is counted, and how."""
    facts, query = facts_of(request, scope), request.GET
    with bad_queries("progress"):
        alpha = read_amount(query, "alpha", 0, 1)
        return facts.under(
            alpha=ALPHA if alpha is None else alpha,
            k=read_whole(query, "k", 1, LARGEST_K) or 1,
            split=read_choice(query, "split", Difficulty) or Difficulty.MILESTONES,
            above=read_whole(query, "above", 0, 1000),
            progress=read_value(request, "progress", read_progress_source),
        )


def render_facts(
    request: AppRequest, template: str, facts: Facts, **context: object
) -> HttpResponse:
    """A page of the experiment, with whose verdicts it shows."""
    known = {"experiment": facts.experiment, "facts": facts, "source": facts.source}
    return render(request, f"judging/analysis/{template}.html", known | context)


def record_verdicts(
    request: AppRequest, shown: Source | Selection, run_ids: Iterable[UUID], reason: str = READ
) -> None:
    """Record that the person reads what is shown of these runs, if that tells judgements."""
    if shown.tells_judgements:
        record_reading(request, run_ids, reason)


def record_reading(request: AppRequest, run_ids: Iterable[UUID], reason: str) -> None:
    """Record that the person reads judgements of these runs, as in the lists of an audit."""
    items = StudyItem.objects.filter(run__in=run_ids)
    record_unblindings(user=request.user, items=items, reason=reason)


def read_value(request: AppRequest, name: str, read: Callable[[str], T]) -> T | None:
    """A value of the address; None where it is empty, 404 where `read` raises ValueError."""
    given = request.GET.get(name)
    return _read(read, name, given) if given else None


def _read(read: Callable[[str], T], name: str, given: str) -> T:
    with bad_queries(name):
        return read(given)


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


def verdict_source(named: str) -> Source:
    """The source of verdicts of that name. Raises CommandError where there is none."""
    try:
        return source_named(named)
    except ValueError as error:
        raise CommandError(str(error)) from error


class Freshness:
    """Of when figures are that are made now, or those of an address, and what has happened since.

    Takes one query. Raises ValueError where the address does not say of when they are.
    """

    def __init__(
        self, experiment: Experiment, user: User, since: Mapping[str, str] | None = None
    ) -> None:
        (now,) = progress_of_each([experiment], user)
        self.experiment = experiment
        self.made_at, self.done = timezone.now(), now.done
        if since is not None:
            self.done, at = int(since.get("done", "")), int(since.get("at", ""))
            if not 0 <= at < 2**33:
                raise ValueError(f"{at} is no time")
            self.made_at = datetime.fromtimestamp(at, tz=UTC)
        self.since = max(0, now.done - self.done)
        """Runs that have ended since."""
        self.moves = now.moves
        """Whether there will be more."""

    @property
    def url(self) -> str:
        path = reverse("judging:experiment_freshness", args=[self.experiment.pk])
        return f"{path}?{urlencode({'done': self.done, 'at': int(self.made_at.timestamp())})}"


def studies_of(scope: Scope, user: User) -> QuerySet[Study]:
    """The studies in which people judge runs of the experiment and whose figures the person may
    see.
    """
    runs = scope.visible.order_by().values("pk")
    items = StudyItem.objects.filter(run__in=runs).order_by()
    # Looked up now: else the database asks of every study whether it is hidden.
    judged = list(items.values_list("study", flat=True).distinct())
    hidden = studies_hidden_from(user).filter(pk__in=judged)
    return Study.objects.filter(pk__in=judged).exclude(pk__in=hidden.values("pk"))
