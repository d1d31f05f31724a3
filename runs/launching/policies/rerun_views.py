"""Which runs a policy would run again, and the button that runs them."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from runs.interface.fragments import AppRequest
from runs.launching.policies.dry_run_forms import DryRunForm
from runs.launching.policies.dry_run_pages import dry_run_context
from runs.launching.policies.rerun_services import launch_by_policy
from runs.launching.reruns.services import RerunError

may_rerun = permission_required("runs.rerun_run", raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@may_rerun
def policy_reruns(request: AppRequest) -> HttpResponse:
    """The dry run of a policy over a study, an experiment or selected runs; sent, its launch."""
    data = request.POST if request.method == "POST" else request.GET
    form = DryRunForm(data, user=request.user)
    is_asked = form.is_valid()
    if "launch" in request.POST and is_asked:
        try:
            return _launch(request, form)
        except RerunError as error:
            form.add_error(None, str(error))
    context = dry_run_context(form, request.user) if is_asked else {}
    return render(request, "runs/launching/policy_reruns.html", {"form": form, **context})


def _launch(request: AppRequest, form: DryRunForm) -> HttpResponse:
    launched = launch_by_policy(
        policy=form.asked,
        runs=form.runs,
        token=form.cleaned_data["token"],
        user=request.user,
    )
    count = len(launched.runs)
    words = ngettext("%(n)d run is queued.", "%(n)d runs are queued.", count) % {"n": count}
    messages.success(request, words)
    return redirect("runs:rerun_list")
