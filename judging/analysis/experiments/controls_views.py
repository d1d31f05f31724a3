"""Starting the controls of an experiment."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from judging.analysis.experiments.access_views import for_readers
from judging.analysis.experiments.controls import controls_name
from judging.analysis.experiments.controls_services import launch_controls
from judging.analysis.experiments.population import Scope
from runs.catalogue.tasks.offered import PlanError
from runs.interface.fragments import AppRequest
from runs.models import Task


@require_POST
@permission_required("runs.rerun_run", raise_exception=True)
@for_readers
def controls_launch(request: AppRequest, scope: Scope) -> HttpResponse:
    """Launch the control agents on the tasks of this experiment, as an experiment beside it."""
    shown = scope.told.order_by()
    tasks = Task.objects.filter(pk__in=shown.values("task")).select_related("task_set").in_order()
    name = controls_name(scope.experiment)
    try:
        launched = launch_controls(name=name, tasks=tasks, token=_token(request), user=request.user)
    except PlanError as error:
        messages.error(request, str(error))
        return redirect("judging:experiment_detail", scope.experiment.pk)
    messages.success(request, _("The controls are on their way."))
    return redirect("judging:experiment_detail", launched.experiment.pk)


def _token(request: AppRequest) -> UUID:
    try:
        return UUID(request.POST.get("token", ""))
    except ValueError as error:
        raise Http404 from error
