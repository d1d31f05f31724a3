"""Going on with work that stopped: the same form and the same words for all kinds."""

from collections.abc import Callable
from decimal import Decimal

from django.contrib import messages
from django.utils.translation import gettext as _

from runs.interface.fragments import AppRequest
from runs.models import PaidWork
from runs.queue.paid_work import WorkRefusedError
from runs.queue.work_forms import ResumeForm


def resume(request: AppRequest, work: PaidWork, again: Callable[[Decimal | None], bool]) -> None:
    """Go on within the limit that was sent, and tell what stands against it.

    Args:
        again: queues the work under a new limit, or the old one where None; False if it has
            nothing left to do.
    """
    form = ResumeForm(request.POST, work=work)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(map(str, errors)))
        return
    try:
        if not again(form.cleaned_data["max_cost"]):
            messages.info(request, _("There is nothing to resume."))
    except WorkRefusedError as error:
        messages.error(request, str(error))
