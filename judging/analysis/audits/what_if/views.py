"""What if an evaluator were switched otherwise: preview, and keep it as a new version."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from judging.analysis.audits.repairs import worst_of
from judging.analysis.audits.verdict_sources import spoken_of
from judging.analysis.audits.views import as_part, audit_page
from judging.analysis.audits.what_if.recomputing import (
    Change,
    Compared,
    compare,
    levers,
    most_correcting,
)
from judging.analysis.audits.what_if.settings import (
    STAGES,
    SWITCHED,
    Setting,
    has_switches,
    has_task_choice,
    read_setting,
    switched,
    switches,
    thrown,
)
from judging.evaluating.services import start_batch
from judging.evaluators.matchers import TaskVersion
from judging.evaluators.registry import UnknownEvaluatorError, model_asked_by
from judging.models import EvaluatorVersion, Study
from judging.studies.access import EVALUATE, for_auditors, record_unblindings
from runs.interface.requests import AppRequest, needs, wants_partial
from runs.models.parsing import QueryError
from runs.operations.error_views import BadQueryError, bad_queries
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import CostLimitField

_WANTED = {1: "right", -1: "wrong", 0: "open"}
"""Whether a change is what one wants, by its gain."""
MOST_SHOWN = 100
"""Runs that are listed of those that would move in one way."""


@audit_page
def what_if(request: AppRequest, study: Study) -> HttpResponse:
    """The switches of an evaluator, and what they change: a part of the page that compares, where
    every other request is led.
    """
    if "sent" not in request.GET:
        if not wants_partial(request):
            return redirect(_page_address(request, study, request.GET.urlencode()))
        context = what_if_context(request, study, opens_on=request.GET.get("first", ""))
        return render(request, "judging/analysis/audits/_what_if.html", context)
    setting = _setting(request, study, switchable(study))
    if setting is None:
        raise Http404
    setting = switched(
        setting.version,
        on=request.GET.getlist("on"),
        stages=request.GET.getlist("stage"),
        tasks=request.GET.get("tasks", ""),
    )
    address = _page_address(request, study, setting.address)
    if not wants_partial(request):
        return redirect(address)
    result = _result(request, study, setting)
    response = render(request, "judging/analysis/audits/_what_if_results.html", result)
    response["HX-Push-Url"] = address
    return response


def what_if_context(request: AppRequest, study: Study, *, opens_on: str) -> dict[str, Any]:
    """What the part shows. Where the address says nothing of the switches, the one is thrown that
    corrects most errors, less those that it makes.

    Args:
        opens_on: the key of the first evaluator compared, which is switched unless the address
            names another.
    """
    versions = switchable(study)
    setting = _setting(request, study, versions, opens_on)
    if setting is None:
        return {"study": study, "page": None}
    stored, opened_on = setting, None
    if not any(key in request.GET for key in SWITCHED):
        setting = _opening(study, setting)
        opened_on = thrown(stored, setting)
    page = switches(study, setting) | {"setting": setting, "versions": versions}
    page |= {"opened_on": opened_on, "pair": _pair(request)}
    return {"study": study, "page": page, **_result(request, study, setting)}


def _opening(study: Study, setting: Setting) -> Setting:
    """With the one switch thrown that corrects most; as it is where none corrects more than it
    breaks.
    """
    stages = setting.stages or ()
    others = [
        replace(setting, stages=tuple(each for each in STAGES if (each in stages) != (each is one)))
        for one in (STAGES if setting.stages is not None else ())
    ]
    if has_task_choice(study, setting):
        others += [replace(setting, tasks=each) for each in TaskVersion if each != setting.tasks]
    return most_correcting(study, setting, others) or setting


def _page_address(request: AppRequest, study: Study, query: str) -> str:
    """The page that compares, with the pair that it compares, at its part."""
    pair = urlencode(_pair(request))
    kept = "&".join(filter(None, [pair if "first=" not in query else "", query]))
    return f"{reverse('judging:audit_compare', args=[study.pk])}?{kept}#what-if"


def _pair(request: AppRequest) -> dict[str, str]:
    return {key: request.GET[key] for key in ("first", "second") if key in request.GET}


def _setting(
    request: AppRequest, study: Study, versions: Sequence[EvaluatorVersion], opens_on: str = ""
) -> Setting | None:
    """The switches of the evaluator that the address names, of the one to open on, or of the one
    that errs most; None without any. Raises BadQueryError where the address says what there is not.
    """
    by_key = {str(each.pk): each for each in versions}
    if (wanted := request.GET.get("evaluator", "")) and wanted not in by_key:
        raise BadQueryError(QueryError("evaluator"))
    version = by_key.get(wanted or opens_on) or worst_of(study, versions)
    if version is None:
        return None
    with bad_queries():
        return read_setting(version, request.GET.dict())


def switchable(study: Study) -> list[EvaluatorVersion]:
    """Evaluators with a verdict in the study that have switches; the repaired matcher first."""
    versions = [each for each in spoken_of(study) if has_switches(each)]
    return sorted(versions, key=lambda each: (each.name != "webarena-repaired", str(each)))


def _result(request: AppRequest, study: Study, setting: Setting) -> dict[str, Any]:
    """The result, who saw it being recorded; where the switches make no evaluator, why."""
    context = {"study": study, "setting": setting}
    try:
        compared = compare(study, setting)
    except UnknownEvaluatorError as error:
        return context | {"result": None, "problem": str(error)}
    shown = [flip.run_id for flips in compared.flips.values() for flip in flips[:MOST_SHOWN]]
    items = study.items.filter(run__in=shown)
    record_unblindings(user=request.user, items=items, reason="what-if of an audit")
    return context | {"result": _compared(study, setting, compared)}


def _compared(study: Study, setting: Setting, compared: Compared) -> dict[str, Any]:
    """What would be, beside what is."""
    evaluator, now, then = setting.evaluator(), compared.now, compared.then
    stored = EvaluatorVersion.objects.filter(config_hash=evaluator.identity.config_hash)

    def url(run_id: UUID, cell: str) -> str:
        walk = {"study": study.pk, "audit": setting.version.pk, "cell": cell}
        return f"{reverse('runs:run_detail', args=[run_id])}?{urlencode(walk)}"

    return {
        "compared": compared,
        # The five cells, now and then.
        "cells": [
            *((key, getattr(now, key), getattr(then, key)) for key in ("tp", "fn", "tn", "fp")),
            ("none", now.no_verdict, then.no_verdict),
        ],
        "rates": [(*each, None) for each in compared.rates],
        # The runs that would move, by how; the first of them with the address of the run.
        "moved": [
            {
                "name": change.label,
                "kind": _WANTED[change.gain],
                "total": len(flips),
                "flips": [(flip, url(flip.run_id, flip.now.value)) for flip in flips[:MOST_SHOWN]],
                "left": max(0, len(flips) - MOST_SHOWN),
            }
            for change in Change
            if (flips := compared.flips.get(change))
        ],
        # Why there would be no verdict, the commonest first.
        "reasons": compared.reasons.most_common(),
        # The version that is so switched already, if there is one.
        "stored_as": stored.first() if setting.is_changed else None,
        # The model that the new version would ask; empty where it asks none.
        "model": model_asked_by(evaluator),
    }


@audit_page
def what_if_rules(request: AppRequest, study: Study) -> HttpResponse:
    """The rules that matter most from where the switches stand: takes longer than the rest."""
    setting = _setting(request, study, switchable(study))
    if setting is None or setting.rules is None:
        raise Http404
    try:
        found = levers(study, setting)
    except UnknownEvaluatorError as error:
        raise Http404 from error
    context = {"study": study, "levers": found, "setting": setting}
    return as_part(request, "audits/_what_if_rules", context, part="compare")


@require_POST
@needs(EVALUATE)
@for_auditors
def what_if_save(request: AppRequest, study: Study) -> HttpResponse:
    """Keep the switched evaluator as a version of its own, and have the study evaluated by it."""
    setting = _setting(request, study, switchable(study))
    if setting is None:
        raise Http404
    form = KeepForm(request.POST)
    if not form.is_valid():
        return _not_kept(request, study, setting, " ".join(map(str, form.errors["max_cost"])))
    try:
        batch = start_batch(
            evaluator=setting.evaluator(),
            study=study,
            user=request.user,
            max_cost=form.cleaned_data["max_cost"] or Decimal(0),
        )
    except (UnknownEvaluatorError, WorkRefusedError) as error:
        return _not_kept(request, study, setting, str(error))
    words = _("%(evaluator)s saved as a new version; the study is being evaluated.")
    messages.success(request, words % {"evaluator": batch.evaluator.shown})
    return redirect("judging:batch_detail", batch.pk)


def _not_kept(request: AppRequest, study: Study, setting: Setting, why: str) -> HttpResponse:
    """Back to the switches, with the reason."""
    messages.error(request, _("Not saved: %(why)s") % {"why": why})
    return redirect(_page_address(request, study, setting.address))


class KeepForm(forms.Form):
    """What the new version may spend on this study, in US dollars; nothing where that is empty."""

    max_cost = CostLimitField(min_value=0)
