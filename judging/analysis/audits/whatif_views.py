"""What if an evaluator were switched otherwise: preview, and keep it as a new version."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.whatif_pages import result
from judging.analysis.audits.whatif_pages import what_if as form_of
from judging.analysis.audits.whatif_rules import levers
from judging.analysis.audits.whatif_settings import Setting, switched
from judging.evaluating.services import start_batch
from judging.evaluators.registry import UnknownEvaluatorError
from judging.models import EvaluationBatch, Study
from judging.studies.access import EVALUATE, for_auditors, record_unblindings
from runs.interface.fragments import AppRequest, wants_partial
from runs.models import User
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import CostLimitField


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def what_if(request: AppRequest, study: Study) -> HttpResponse:
    """The switches of an evaluator, and what they change. A sent form is led to its address."""
    page = form_of(study, request.GET.dict())
    if page is None:
        return render(
            request, "judging/analysis/audits/what_if.html", {"study": study, "page": None}
        )
    if "sent" in request.GET:
        setting = _sent(request, page.setting)
        if not wants_partial(request):
            return redirect(f"{request.path}?{setting.address}")
        return _results(request, study, setting)
    context = {"study": study, "page": page, **_result(request, study, page.setting)}
    return render(request, "judging/analysis/audits/what_if.html", context)


def _sent(request: AppRequest, setting: Setting) -> Setting:
    return switched(
        setting.version,
        on=request.GET.getlist("on"),
        stages=request.GET.getlist("stage"),
        tasks=request.GET.get("tasks", ""),
    )


def _results(request: AppRequest, study: Study, setting: Setting) -> HttpResponse:
    response = render(
        request, "judging/analysis/audits/_what_if_results.html", _result(request, study, setting)
    )
    response["HX-Push-Url"] = f"{request.path}?{setting.address}"
    return response


def _result(request: AppRequest, study: Study, setting: Setting) -> dict[str, Any]:
    """The result, who saw it being recorded; where the switches make no evaluator, why."""
    try:
        found = result(study, setting)
    except UnknownEvaluatorError as error:
        return {"study": study, "setting": setting, "result": None, "problem": str(error)}
    record_unblindings(user=request.user, items=found.items, reason="what-if of an audit")
    return {"study": study, "setting": setting, "result": found}


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def what_if_rules(request: AppRequest, study: Study) -> HttpResponse:
    """The rules that matter most from where the switches stand: takes longer than the rest."""
    page = form_of(study, request.GET.dict())
    if page is None or page.setting.rules is None:
        raise Http404
    try:
        found = levers(study, page.setting)
    except UnknownEvaluatorError as error:
        raise Http404 from error
    context = {"study": study, "levers": found, "setting": page.setting}
    if wants_partial(request):
        return render(request, "judging/analysis/audits/_what_if_rules.html", context)
    return render(request, "judging/analysis/audits/what_if_rules.html", context)


@require_POST
@permission_required(EVALUATE, raise_exception=True)
@for_auditors
def what_if_save(request: AppRequest, study: Study) -> HttpResponse:
    """Keep the switched evaluator as a version of its own, and have the study evaluated by it."""
    page = form_of(study, request.GET.dict())
    if page is None:
        raise Http404
    form = KeepForm(request.POST)
    if not form.is_valid():
        return _not_kept(request, study, page.setting, " ".join(map(str, form.errors["max_cost"])))
    try:
        batch = save_and_evaluate(
            user=request.user, study=study, setting=page.setting, max_cost=form.limit
        )
    except (UnknownEvaluatorError, WorkRefusedError) as error:
        return _not_kept(request, study, page.setting, str(error))
    words = _("%(evaluator)s saved as a new version; the study is being evaluated.")
    messages.success(request, words % {"evaluator": batch.evaluator})
    return redirect("judging:batch_detail", batch.pk)


def _not_kept(request: AppRequest, study: Study, setting: Setting, why: str) -> HttpResponse:
    """Back to the switches, with the reason."""
    messages.error(request, _("Not saved: %(why)s") % {"why": why})
    return redirect(f"{reverse('judging:what_if', args=[study.pk])}?{setting.address}")


class KeepForm(forms.Form):
    """What the new version may spend on this study; nothing where that is left empty."""

    max_cost = CostLimitField(min_value=0)

    @property
    def limit(self) -> Decimal:
        """The limit of a valid form."""
        given: Decimal | None = self.cleaned_data["max_cost"]
        return given or Decimal(0)


def save_and_evaluate(
    *, user: User, study: Study, setting: Setting, max_cost: Decimal
) -> EvaluationBatch:
    """Store the evaluator so switched as a version of its name, and have the study evaluated.

    Args:
        max_cost: in US dollars, where it asks a model; replies that are kept cost nothing.

    Raises:
        UnknownEvaluatorError: the program has moved on from the evaluator.
        WorkRefusedError: its model cannot be asked, so nothing is kept.
    """
    return start_batch(evaluator=setting.evaluator(), study=study, user=user, max_cost=max_cost)
