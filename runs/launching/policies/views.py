"""Retry policies: the list, one version, and the form of the next one."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.fragments import AppRequest, redirect_whole, wants_partial
from runs.launching.policies.dry_run_forms import policy_numbered
from runs.launching.policies.forms import PolicyForm
from runs.launching.policies.pages import (
    listed_policies,
    policy_context,
    policy_form,
    suites_that_end,
    watches_for_completion,
)
from runs.launching.policies.services import PolicyError, save_policy
from runs.launching.policies.words import in_words
from runs.models import RetryPolicy

may_rerun = permission_required("runs.rerun_run", raise_exception=True)


@require_safe
@may_rerun
def policy_list(request: AppRequest) -> HttpResponse:
    """The last version of every policy, in words."""
    return render(
        request, "runs/launching/policy_list.html", {"policies": listed_policies(request.user)}
    )


@require_safe
@may_rerun
def policy_detail(request: AppRequest, pk: int) -> HttpResponse:
    """One version: in words, its document, the runs under it, and the other versions."""
    policy = get_object_or_404(RetryPolicy.objects.select_related("created_by"), pk=pk)
    return render(
        request, "runs/launching/policy_detail.html", policy_context(policy, request.user)
    )


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
        context["never_noticed"] = suites_that_end() if watches_for_completion(form.body) else []
    return render(request, "runs/launching/_policy_words.html", context)


def _edit(request: AppRequest, policy: RetryPolicy | None) -> HttpResponse:
    is_sent = request.method == "POST"
    adds_rule = "add_rule" in request.POST
    data = request.POST if is_sent else None
    form = policy_form(request.user, policy, data, adds_rule=adds_rule)
    is_refused = is_sent and not adds_rule
    if is_refused and form.is_valid() and (saved := _save(request, form, policy)):
        return redirect_whole(request, reverse("runs:policy_detail", args=[saved.pk]))
    name = "_policy_form" if wants_partial(request) else "policy_form"
    context = {"form": form, "policy": policy, "shows_errors": not adds_rule}
    response = render(
        request, f"runs/launching/{name}.html", context, status=422 if is_refused else 200
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
    messages.success(request, _("%(policy)s is saved.") % {"policy": saved})
    return saved
