"""The door of an experiment's figures, and what its addresses say."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from judging.analysis.experiments.access import PERMISSIONS
from judging.analysis.experiments.pairs import By
from judging.analysis.experiments.population import Scope, scope_for
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.sources import (
    Choice,
    Source,
    choices_among,
    default_source,
    read_source,
)
from runs.interface.fragments import AppRequest
from runs.models import Experiment
from runs.operations.error_views import BadQueryError

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


def for_readers(view: Callable[Concatenate[AppRequest, Scope, P], HttpResponseBase]) -> View:
    """Lets in who may read figures of experiments, to what they may know of this one."""

    @wraps(view)
    def guarded(
        request: AppRequest, experiment_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        demand_permissions(request)
        return view(request, scope_of(request, experiment_id), *args, **kwargs)

    return guarded


def demand_permissions(request: AppRequest) -> None:
    """Raises PermissionDenied for those who may not read figures."""
    if not request.user.has_perms(PERMISSIONS):
        raise PermissionDenied


def scope_of(request: AppRequest, experiment_id: int) -> Scope:
    """What the person may know of the experiment; 404 where they may not know its name."""
    experiments = Experiment.objects.visible_to(request.user)
    return scope_for(request.user, get_object_or_404(experiments, pk=experiment_id))


def asked_of(request: AppRequest, scope: Scope) -> ReportQuery:
    """What the address asks for; its source is the default's where it names none."""
    choices = None if "verdict" in request.GET else choices_of(scope)
    return ReportQuery(
        scope=scope,
        source=source_of(request, choices or []),
        selector=selector_of(request),
        by=pairing_of(request),
    )


def choices_of(scope: Scope) -> list[Choice]:
    """The sources there are for the experiment's runs. Which runs count hangs on none of them."""
    return choices_among(scope.counted(Source()))


def source_of(request: AppRequest, choices: list[Choice]) -> Source:
    """The source of the address, or the default among these."""
    try:
        return (
            read_source(request.GET["verdict"])
            if "verdict" in request.GET
            else default_source(choices)
        )
    except ValueError as error:
        raise BadQueryError(error, "verdict") from error


def selector_of(request: AppRequest) -> Source | None:
    """Who picks the best of k trials, if the address says so."""
    try:
        return read_source(request.GET["selector"]) if request.GET.get("selector") else None
    except ValueError as error:
        raise BadQueryError(error, "selector") from error


def pairing_of(request: AppRequest) -> By | None:
    """What pairs are made by, if the address says so."""
    try:
        return By(request.GET["pair"]) if request.GET.get("pair") else None
    except ValueError as error:
        raise BadQueryError(error, "pair") from error
