"""The home page and the command palette."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.desk.evaluators import evaluators_of, newest_audits, next_step
from judging.desk.home import home_context
from judging.desk.palette import found
from judging.studies.access import AUDIT
from runs.interface.filters import without_nul
from runs.interface.requests import AppRequest, needs, wants_partial
from runs.operations.health.checks import neglected

RERUN = "runs.rerun_run"


@require_safe
@vary_on_headers("HX-Request")
def home(request: AppRequest) -> HttpResponse:
    """What waits for the person, and what has moved since.

    The page itself asks for a part: which work no worker takes. It takes as long as all the rest.
    """
    if wants_partial(request):
        queues = sorted(neglected()) if request.user.has_perm(RERUN) else []
        return render(request, "judging/desk/_neglected.html", {"queues": queues})
    return render(request, "judging/desk/home.html", home_context(request.user))


@require_safe
@vary_on_headers("HX-Request")
def palette(request: AppRequest) -> HttpResponse:
    """Pages, actions, studies, experiments and runs that fit what was typed."""
    typed = without_nul(request.GET.get("q"))
    context = {
        "groups": found(request.user, typed),
        "typed": typed,
        "is_part": wants_partial(request),
    }
    return render(request, "judging/desk/palette.html", context)


@require_safe
@vary_on_headers("HX-Request")
@needs(AUDIT)
def audit_newest(request: AppRequest) -> HttpResponse:
    """How wrong the evaluators of the newest audits are, for the home page."""
    audits = newest_audits(request.user)
    context = {"studies": [evaluators_of(facts) for facts in audits], "next": next_step(audits)}
    return render(request, "judging/desk/evaluators.html", context)
