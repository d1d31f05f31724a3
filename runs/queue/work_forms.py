"""What people set for work that asks a model: its limit of costs, when it starts or goes on."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from runs.models import PaidWork

MOST_DOLLARS = Decimal(100_000)


class CostLimitField(forms.DecimalField):
    """A limit of costs; None where it is left empty."""

    def __init__(self, **options: Any) -> None:
        usual: dict[str, Any] = {
            "label": _("Cost limit in US dollars"),
            "required": False,
            "min_value": Decimal("0.01"),
            "max_value": MOST_DOLLARS,
            "decimal_places": 2,
        }
        super().__init__(**usual | options)


class ResumeForm(forms.Form):
    """The cost limit for all of the work; as before where it is left empty."""

    max_cost = CostLimitField(label=_("New cost limit in US dollars"))

    def __init__(self, *args: Any, work: PaidWork, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if work.max_cost is not None:
            self.fields["max_cost"].initial = f"{work.max_cost * 2:.2f}"
