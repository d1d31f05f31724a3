"""Keeping what a what-if page shows."""

from __future__ import annotations

from decimal import Decimal

from django import forms

from runs.queue.paid_work_services import CostLimitField


class KeepForm(forms.Form):
    """What the new version may spend on this study; nothing where that is left empty."""

    max_cost = CostLimitField(min_value=0)

    @property
    def limit(self) -> Decimal:
        """The limit of a valid form."""
        given: Decimal | None = self.cleaned_data["max_cost"]
        return given or Decimal(0)
