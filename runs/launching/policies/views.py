"""Retry policies: the list, one version, and the form of the next one."""

from collections import Counter, defaultdict
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.paging import count_rows
from runs.interface.requests import AppRequest, redirect_whole, wants_partial
from runs.launching.agents import OfferedAgents
from runs.launching.policies.forms import PolicyForm, initial_of
from runs.launching.policies.rerun_views import policy_numbered
from runs.launching.policies.rule_forms import one_more_rule, rule_forms
from runs.launching.policies.services import PolicyError, save_policy
from runs.launching.policies.words import Saving, in_words, lines, saving_in
from runs.launching.reruns.views import may_rerun
from runs.models import RetryPolicy, Run, User
from runs.models.policies import body_of
from runs.models.visibility import Visibility, visibility_of
from webagent.environment.registry import SITE_BENCHMARKS, ends_at_first_message, suites
from webagent.recovery.retry_policy import AnomalyResponse, PolicyBody

MOST_RUNS = 50
MOST_COUNTED = 5000


def versions_of(name: str) -> list[dict[str, Any]]:
    """All versions, newest first, with the lines that differ from the version before."""
    rows = list(RetryPolicy.objects.filter(name=name).select_related("created_by"))
    rows.sort(key=lambda row: row.version)
    said = [lines(body_of(row)) for row in rows]
    before: list[list[str]] = [said[0], *said[:-1]]
    return [
        {
            "policy": row,
            "added": [s for s in now if s not in old],
            "removed": [s for s in old if s not in now],
        }
        for row, now, old in zip(rows, said, before, strict=True)
    ][::-1]


def _never_noticed(body: PolicyBody) -> list[str]:
    """Suites and benchmarks where the policy looks for repeated completion in vain.

    Their runs end with the agent's first message. None where it does not look for that.
    """
    recovery = body.recovery
    if recovery is None or recovery.on_false_completion is AnomalyResponse.IGNORE:
        return []
    here = [name for name in suites() if ends_at_first_message(f"{name}.")]
    known = [name for name, benchmark in SITE_BENCHMARKS.items() if benchmark.ends_at_message]
    return sorted({*here, *known})


def policy_form(
    user: User, policy: RetryPolicy | None, data: Any = None, *, adds_rule: bool = False
) -> PolicyForm:
    """The form of a new policy, or of the next version of one; bound where there is data."""
    body = body_of(policy) if policy else PolicyBody()
    agents = OfferedAgents(user, beside=body.agents)
    if adds_rule and data is not None:
        data = one_more_rule(data)
    rules = rule_forms(data, body.reruns, agents)
    initial = initial_of(body, agents)
    if policy is not None:
        initial |= {"name": policy.name, "description": policy.description}
    form = PolicyForm(data, initial=initial, agents=agents, rules=rules, is_new=policy is None)
    if adds_rule:
        form.forgive()
        if rules.forms:  # there it goes on
            rules.forms[-1].fields["when"].widget.attrs["autofocus"] = True
    return form


def _shown_runs(visibility: Visibility) -> Any:
    """Runs that hide nothing from the person: a policy tells who acts, and its rule how it went."""
    runs: Any = Run.objects.visible_with(visibility).latest_attempts()
    return runs.filter(is_blind=False, is_anonymous=False)


def _usage(runs: QuerySet[Any]) -> dict[str, Any]:
    """What became of the runs; `rescued` are successes after at least one recovery."""
    rows = runs.values_list(
        "shown_outcome", "shown_end_reason", "shown_cost", "n_steps", "record__extra__recovery"
    ).order_by("-created_at")[:MOST_COUNTED]
    outcomes: Counter[str] = Counter()
    rescued = stopped = 0
    saved = Saving(0, None)
    for outcome, end_reason, cost, n_steps, recovery in rows:
        outcomes[outcome] += 1
        told = recovery if isinstance(recovery, dict) else {}
        rescued += outcome == Run.Outcome.SUCCESS and bool(told.get("recoveries"))
        if end_reason == Run.EndReason.HARNESS_LOOP_STOP:
            stopped += 1
            saved += saving_in(told, n_steps, cost)
    return {
        "n": outcomes.total(),
        "outcomes": outcomes.most_common(),
        "rescued": rescued,
        "stopped": stopped,
        "saved": saved,
    }


@require_safe
@may_rerun
def policy_list(request: AppRequest) -> HttpResponse:
    """The last version of every policy, in words, without what it leaves to the settings."""
    runs = _shown_runs(visibility_of(request.user))
    versions = defaultdict[str, list[int]](list)
    for pk, name in RetryPolicy.objects.values_list("pk", "name"):
        versions[name].append(pk)
    policies = [
        {
            "policy": policy,
            "parts": [part for part in in_words(body_of(policy)) if part.acts],
            "n_runs": count_rows(runs.filter(policy__in=versions[policy.name]), most=MOST_COUNTED),
        }
        for policy in RetryPolicy.objects.latest_versions().select_related("created_by")
    ]
    return render(request, "runs/launching/policy_list.html", {"policies": policies})


@require_safe
@may_rerun
def policy_detail(request: AppRequest, pk: int) -> HttpResponse:
    """One version: in words, its document, the runs under it, and the other versions."""
    policy = get_object_or_404(RetryPolicy.objects.select_related("created_by"), pk=pk)
    body = body_of(policy)
    visibility = visibility_of(request.user)
    runs = _shown_runs(visibility).filter(policy=policy)
    context = {
        "policy": policy,
        "parts": in_words(body),
        "body": body.model_dump_json(indent=2),
        "versions": versions_of(policy.name),
        "never_noticed": _never_noticed(body),
        "runs": runs.named(visibility).for_list().order_by("-created_at", "-pk")[:MOST_RUNS],
        "usage": _usage(runs.ended()),
        "has_rules": bool(body.reruns),
    }
    return render(request, "runs/launching/policy_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
def policy_new(request: AppRequest) -> HttpResponse:
    """The form of a new policy."""
    return _edit(request, None)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
def policy_edit(request: AppRequest, pk: int) -> HttpResponse:
    """The form filled with a version; saved, it makes the next one."""
    return _edit(request, get_object_or_404(RetryPolicy, pk=pk))


@require_POST
@may_rerun
def policy_preview(request: AppRequest) -> HttpResponse:
    """What the form says at the moment, in words; saves nothing."""
    policy = policy_numbered(request.POST.get("policy", ""))
    form = policy_form(request.user, policy, request.POST)
    form.fields["name"].required = False  # the words say nothing of it
    context: dict[str, object] = {"is_valid": form.is_valid(), "form": form}
    if form.is_valid() and form.body is not None:
        context["parts"] = in_words(form.body)
        context["never_noticed"] = _never_noticed(form.body)
    return render(request, "runs/launching/_policy_words.html", context)


def _edit(request: AppRequest, policy: RetryPolicy | None) -> HttpResponse:
    is_sent = request.method == "POST"
    adds_rule = "add_rule" in request.POST
    data = request.POST if is_sent else None
    form = policy_form(request.user, policy, data, adds_rule=adds_rule)
    is_refused = is_sent and not adds_rule
    if is_refused and form.is_valid() and (saved := _save(request, form, policy)):
        return redirect_whole(request, reverse("runs:policy_detail", args=[saved.pk]))
    context = {"form": form, "policy": policy, "shows_errors": not adds_rule}
    response = render(
        request, "runs/launching/policy_form.html", context, status=422 if is_refused else 200
    )
    if wants_partial(request):  # the words beside the form follow it
        response["HX-Trigger-After-Settle"] = "policy-changed"
    return response


def _save(request: AppRequest, form: PolicyForm, policy: RetryPolicy | None) -> RetryPolicy | None:
    """The saved version; None with an error in the form if it cannot be saved."""
    assert form.body is not None  # noqa: S101 (mypy; the form is valid)
    try:
        saved = save_policy(
            name=policy.name if policy else form.cleaned_data["name"],
            body=form.body,
            description=form.cleaned_data["description"],
            user=request.user,
            is_new=policy is None,
        )
    except PolicyError as error:
        form.add_error("name", str(error))
        return None
    messages.success(request, _("Saved."))
    return saved
