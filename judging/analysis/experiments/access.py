"""Who may read the figures of an experiment, and what the addresses of their pages ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.core.exceptions import PermissionDenied
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from judging.analysis.experiments.facts import Facts, ReportQuery, progress_options
from judging.analysis.experiments.pairs import By
from judging.analysis.experiments.population import Scope, scope_for
from judging.analysis.experiments.sources import read_source
from judging.analysis.failure_modes.sources import ModeSource
from judging.analysis.progress.sources import read_progress_source
from judging.studies.access import AUDIT
from runs.interface.fragments import AppRequest
from runs.models import Experiment
from runs.operations.error_views import BadQueryError

PERMISSIONS = ("runs.view_experiment", AUDIT)
"""Figures tell verdicts, so they are for those who may read audits."""

P = ParamSpec("P")
T = TypeVar("T")
View = Callable[..., HttpResponseBase]


def for_readers(view: Callable[Concatenate[AppRequest, Scope, P], HttpResponseBase]) -> View:
    """Lets in who may read figures of experiments, to what they may know of this one."""

    @wraps(view)
    def guarded(
        request: AppRequest, experiment_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        check_permissions(request)
        return view(request, scope_of(request, experiment_id), *args, **kwargs)

    return guarded


def check_permissions(request: AppRequest) -> None:
    """Raises PermissionDenied for those who may not read figures."""
    if not request.user.has_perms(PERMISSIONS):
        raise PermissionDenied


def scope_of(request: AppRequest, experiment_id: int) -> Scope:
    """What the person may know of the experiment; 404 where they may not know its name."""
    experiments = Experiment.objects.visible_to(request.user)
    return scope_for(request.user, get_object_or_404(experiments, pk=experiment_id))


def facts_of(request: AppRequest, scope: Scope) -> Facts:
    """The experiment under what the address asks. 404 for a value that there is not."""
    source = None
    if "verdict" in request.GET:  # an empty one is none, and does not ask for the default
        source = _read(read_source, "verdict", request.GET["verdict"])
    query = ReportQuery(
        source=source,
        selector=read_value(request, "selector", read_source),
        by=read_value(request, "pair", By),
    )
    return Facts(scope, query)


def progress_facts_of(request: AppRequest, scope: Scope) -> Facts:
    """The same with whose progress is counted, and how."""
    facts = facts_of(request, scope)
    options: dict[str, Any] = _read(progress_options, "progress", request.GET)
    progress = read_value(request, "progress", read_progress_source)
    return Facts(scope, replace(facts.query, progress=progress, **options))


def with_modes_by(request: AppRequest, facts: Facts) -> Facts:
    """The same with whose failure modes are shown; everybody's for a source that there is not."""
    named = request.GET.get("by", "")
    by = ModeSource(named) if named in set(ModeSource) else ModeSource.KNOWN
    return Facts(facts.scope, replace(facts.query, modes_by=by))


def read_value(request: AppRequest, name: str, read: Callable[[str], T]) -> T | None:
    """A value of the address; None where it is empty, 404 where `read` raises ValueError."""
    given = request.GET.get(name)
    return _read(read, name, given) if given else None


def _read(read: Callable[[Any], T], name: str, given: Any) -> T:
    try:
        return read(given)
    except ValueError as error:
        raise BadQueryError(error, name) from error
