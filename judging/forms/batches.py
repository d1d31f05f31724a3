"""Going on with a batch that stopped."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.forms.evaluate import MOST_DOLLARS
from judging.models import EvaluationBatch


class ResumeForm(forms.Form):
    """The cost limit for all of the batch; as before where it is left empty."""

    max_cost = forms.DecimalField(
        label=_("New cost limit in US dollars"),
        required=False,
        min_value=Decimal("0.01"),
        max_value=MOST_DOLLARS,
        decimal_places=2,
    )

    def __init__(self, *args: Any, batch: EvaluationBatch, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if batch.max_cost is not None:
            self.fields["max_cost"].initial = f"{batch.max_cost * 2:.2f}"
