"""Starting work that asks a model, and resuming it: forms, limits of costs, and writes."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.catalogue.language_models import ModelUnavailableError, usable_entry
from runs.interface.requests import AppRequest
from runs.models import PaidWork
from runs.queue.paid_work import WorkRefusedError
from webagent.llm.registry import ModelEntry


def check_limits(
    model: str, max_cost: Decimal | None, entry_of: Callable[[str], ModelEntry] = usable_entry
) -> None:
    """Whether the model can be asked within the limit; anything goes where none is asked.

    Raises:
        WorkRefusedError: it cannot.
    """
    if not model:
        return
    try:
        entry = entry_of(model)
    except ModelUnavailableError as error:
        raise WorkRefusedError(str(error)) from error
    if max_cost is not None and entry.prices is None:
        raise WorkRefusedError(
            _(
                "The price of %(model)s is unknown, so no cost limit can be kept. "
                "Add its price to the file of models, or start without a limit."
            )
            % {"model": model}
        )


def limit_to_resume(
    work: PaidWork, max_cost: Decimal | None, entry_of: Callable[[str], ModelEntry] = usable_entry
) -> Decimal | None:
    """The limit for all of the work from now on.

    Args:
        max_cost: the new one; as before where None.

    Raises:
        WorkRefusedError: its model cannot be asked, or what is spent has reached the limit.
    """
    limit = work.max_cost if max_cost is None else max_cost
    check_limits(work.model, limit, entry_of)
    if limit is not None and work.spent >= limit:
        raise WorkRefusedError(
            _("$%(spent)s of $%(limit)s spent: raise the cost limit to continue.")
            % {"spent": f"{work.spent:.2f}", "limit": f"{limit:.2f}"}
        )
    return limit


class CostLimitField(forms.DecimalField):
    """A limit of costs; None where it is left empty."""

    def __init__(self, **options: Any) -> None:
        usual: dict[str, Any] = {
            "label": gettext_lazy("Cost limit in US dollars"),
            "required": False,
            "min_value": Decimal("0.01"),
            "max_value": Decimal(100_000),
            "decimal_places": 2,
        }
        super().__init__(**usual | options)


class ResumeForm(forms.Form):
    """The cost limit for all of the work; as before where it is left empty."""

    max_cost = CostLimitField()

    def __init__(self, *args: Any, work: PaidWork, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if work.max_cost is not None:
            self.fields["max_cost"].initial = f"{work.max_cost * 2:.2f}"


def resume(request: AppRequest, work: PaidWork, again: Callable[[Decimal | None], bool]) -> None:
    """Resume within the limit that was sent, or say why not.

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
            messages.info(request, _("Nothing to resume."))
    except WorkRefusedError as error:
        messages.error(request, str(error))
