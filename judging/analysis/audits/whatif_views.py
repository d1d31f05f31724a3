"""What if an evaluator were switched otherwise: preview, and keep it as a new version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.population import counted_items
from judging.analysis.audits.whatif import Change, Compared, compare, levers
from judging.analysis.audits.whatif_settings import (
    STAGES,
    Setting,
    has_switches,
    read_setting,
    switched,
)
from judging.evaluating.services import start_batch
from judging.evaluators.contract import Evaluator
from judging.evaluators.judges.outcome import StageName
from judging.evaluators.matchers import TaskVersion
from judging.evaluators.matching.repaired.rules import ALL_RULES, DESCRIPTIONS, REJECTING, Rule
from judging.evaluators.registry import UnknownEvaluatorError, model_asked_by
from judging.models import Evaluation, EvaluatorVersion, Study
from judging.studies.access import EVALUATE, for_auditors, record_unblindings
from runs.interface.fragments import AppRequest, wants_partial
from runs.models import TaskSet
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import CostLimitField

CHANGES: Mapping[Change, tuple[Promise, str]] = {
    Change.FIXED_FN: (gettext_lazy("FN that would pass"), "right"),
    Change.FIXED_FP: (gettext_lazy("FP that would not pass"), "right"),
    Change.LOST_TP: (gettext_lazy("TP that would be lost"), "wrong"),
    Change.NEW_FP: (gettext_lazy("new FP"), "wrong"),
    Change.GAINED: (gettext_lazy("a verdict where there is none"), "open"),
    Change.LOST: (gettext_lazy("no verdict any more"), "open"),
}
"""Names, and whether that is what one wants, in the order in which they are shown."""
MOST_SHOWN = 100
"""Runs that are listed of those that would move in one way."""
_STAGES: Mapping[StageName, Promise] = {
    StageName.EQUIVALENCE: gettext_lazy("Stage 1: the answer means the same as the reference"),
    StageName.INCLUSION: gettext_lazy("Stage 2: the answer holds the reference's key information"),
}
_TASKS: Mapping[TaskVersion, Promise] = {
    TaskVersion.RECORDED: gettext_lazy("as recorded"),
    TaskVersion.PATCHED: gettext_lazy("as patched"),
}


class Switch(NamedTuple):
    """One rule, stage or version of the tasks with its box."""

    key: str
    name: str | Promise
    description: str
    is_on: bool


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def what_if(request: AppRequest, study: Study) -> HttpResponse:
    """The switches of an evaluator, and what they change. A sent form is led to its address."""
    versions = switchable(study)
    setting = _setting(request, versions)
    if setting is None:
        context: dict[str, Any] = {"study": study, "page": None}
        return render(request, "judging/analysis/audits/what_if.html", context)
    if "sent" in request.GET:
        setting = _sent(request, setting)
        if not wants_partial(request):
            return redirect(f"{request.path}?{setting.address}")
        return _results(request, study, setting)
    page = _switches(study, setting) | {"setting": setting, "versions": versions}
    context = {"study": study, "page": page, **_result(request, study, setting)}
    return render(request, "judging/analysis/audits/what_if.html", context)


def _setting(request: AppRequest, versions: Sequence[EvaluatorVersion]) -> Setting | None:
    """The switches of the evaluator that the address names, or of the first; None without any."""
    wanted = request.GET.get("evaluator", "")
    named = [each for each in versions if str(each.pk) == wanted]
    version = next(iter([*named, *versions]), None)
    return None if version is None else read_setting(version, request.GET.dict())


def switchable(study: Study) -> list[EvaluatorVersion]:
    """Evaluators with a verdict in the study that have switches; the repaired matcher first."""
    said = Evaluation.objects.filter(
        evaluator=OuterRef("pk"),
        is_current=True,
        run__in=counted_items(study).order_by().values("run"),
    )
    versions = [
        each for each in EvaluatorVersion.objects.filter(Exists(said)) if has_switches(each)
    ]
    return sorted(versions, key=lambda each: (each.name != "webarena-repaired", str(each)))


def _switches(study: Study, setting: Setting) -> dict[str, Any]:
    """The boxes of the form; no group where the evaluator has nothing of the kind."""
    return {
        "groups": [] if setting.rules is None else _rule_groups(setting.rules),
        "stages": [
            Switch(each.value, each.value, str(_STAGES[each]), each in (setting.stages or ()))
            for each in (() if setting.stages is None else STAGES)
        ],
        "tasks": [
            Switch(each.value, name, "", setting.tasks is each)
            for each, name in (_TASKS.items() if _has_task_choice(study, setting) else ())
        ],
        "all_on": replace(setting, rules=ALL_RULES).address,
        "all_off": replace(setting, rules=frozenset()).address,
        "as_stored": urlencode({"evaluator": setting.version.pk}),
    }


def _has_task_choice(study: Study, setting: Setting) -> bool:
    sets = TaskSet.objects.filter(parent__tasks__runs__study_items__study=study)
    has_patched = sets.exists()
    return setting.tasks is not None and (has_patched or setting.tasks is TaskVersion.PATCHED)


def _rule_groups(enabled: frozenset[Rule]) -> list[tuple[str, list[Switch]]]:
    """The rules by what they do."""

    def switches(rules: Iterable[Rule]) -> list[Switch]:
        return [
            Switch(
                rule.value,
                rule.value.removeprefix("url_").replace("_", " "),
                _(DESCRIPTIONS[rule]),
                rule in enabled,
            )
            for rule in rules
        ]

    urls = [rule for rule in Rule if rule.startswith("url_")]
    accepting = [rule for rule in Rule if rule not in urls and rule not in REJECTING]
    rejecting = [rule for rule in Rule if rule not in urls and rule in REJECTING]
    return [
        (_("Accept more answers"), switches(accepting)),
        (
            _("Reject what only looks right"),
            switches(rejecting),
        ),
        (_("URLs"), switches(urls)),
    ]


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
    names = (_("by the evaluator now"), _("by the evaluator then"), _("by the reference"))

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
        "rates": list(zip(names, compared.rates, strict=True)),
        # The runs that would move, by how; the first of them with the address of the run.
        "moved": [
            {
                "name": name,
                "kind": kind,
                "total": len(flips),
                "flips": [(flip, url(flip.run_id, flip.now.value)) for flip in flips[:MOST_SHOWN]],
                "left": max(0, len(flips) - MOST_SHOWN),
            }
            for change, (name, kind) in CHANGES.items()
            if (flips := compared.flips.get(change))
        ],
        # The version that is so switched already, if there is one.
        "stored_as": _stored(evaluator) if setting.is_changed else None,
        # The model that the new version would ask; empty where it asks none.
        "model": model_asked_by(evaluator),
    }


def _stored(evaluator: Evaluator) -> EvaluatorVersion | None:
    versions = EvaluatorVersion.objects.filter(config_hash=evaluator.identity.config_hash)
    return versions.first()


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def what_if_rules(request: AppRequest, study: Study) -> HttpResponse:
    """The rules that matter most from where the switches stand: takes longer than the rest."""
    setting = _setting(request, switchable(study))
    if setting is None or setting.rules is None:
        raise Http404
    try:
        found = levers(study, setting)
    except UnknownEvaluatorError as error:
        raise Http404 from error
    context = {"study": study, "levers": found, "setting": setting}
    if wants_partial(request):
        return render(request, "judging/analysis/audits/_what_if_rules.html", context)
    return render(request, "judging/analysis/audits/what_if_rules.html", context)


@require_POST
@permission_required(EVALUATE, raise_exception=True)
@for_auditors
def what_if_save(request: AppRequest, study: Study) -> HttpResponse:
    """Keep the switched evaluator as a version of its own, and have the study evaluated by it."""
    setting = _setting(request, switchable(study))
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
    messages.success(request, words % {"evaluator": batch.evaluator})
    return redirect("judging:batch_detail", batch.pk)


def _not_kept(request: AppRequest, study: Study, setting: Setting, why: str) -> HttpResponse:
    """Back to the switches, with the reason."""
    messages.error(request, _("Not saved: %(why)s") % {"why": why})
    return redirect(f"{reverse('judging:what_if', args=[study.pk])}?{setting.address}")


class KeepForm(forms.Form):
    """What the new version may spend on this study, in US dollars; nothing where that is empty."""

    max_cost = CostLimitField(min_value=0)
