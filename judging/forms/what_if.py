"""Keeping what a what-if page shows."""

from __future__ import annotations

from decimal import Decimal

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.forms.evaluate import MOST_DOLLARS


class KeepForm(forms.Form):
    """What the new version may spend on this study; nothing where that is left empty."""

    max_cost = forms.DecimalField(
        label=_("Cost limit in US dollars"),
        required=False,
        min_value=0,
        max_value=MOST_DOLLARS,
        decimal_places=2,
    )

    @property
    def limit(self) -> Decimal:
        """The limit of a valid form."""
        given: Decimal | None = self.cleaned_data["max_cost"]
        return given or Decimal(0)
