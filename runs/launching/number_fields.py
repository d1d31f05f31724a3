"""Form fields for numbers that say themselves what can be entered.

They are plain text fields for the browser: of what is no number a field of its own kind sends
nothing, which then looks like "no limit".
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.formats import number_format
from django.utils.translation import gettext as _


class WholeNumberField(forms.IntegerField):
    """A whole number from `min_value` to `max_value`; commas between thousands are passed over."""

    widget = forms.TextInput

    def __init__(self, *, min_value: int, max_value: int, **options: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **options)
        self._bounds = (min_value, max_value)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {"inputmode": "numeric", "autocomplete": "off"}

    def clean(self, value: Any) -> Any:
        try:
            return super().clean(_without_commas(value))
        except forms.ValidationError:
            raise forms.ValidationError(self._words(), code="number") from None

    def _words(self) -> str:
        low, high = (number_format(bound, force_grouping=True) for bound in self._bounds)
        bounds = {"low": low, "high": high}
        if self.required:
            return _("Enter a whole number from %(low)s to %(high)s.") % bounds
        return _("Enter a whole number from %(low)s to %(high)s, or nothing.") % bounds


class AmountField(forms.DecimalField):
    """A number with decimals from `min_value` to `max_value`; commas are passed over."""

    widget = forms.TextInput

    def __init__(
        self, *, min_value: Decimal, max_value: Decimal, decimal_places: int, **options: Any
    ) -> None:
        super().__init__(
            min_value=min_value, max_value=max_value, decimal_places=decimal_places, **options
        )
        self._bounds = (min_value, max_value)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {"inputmode": "decimal", "autocomplete": "off"}

    def clean(self, value: Any) -> Any:
        try:
            return super().clean(_without_commas(value))
        except forms.ValidationError:
            raise forms.ValidationError(self._words(), code="number") from None

    def _words(self) -> str:
        low, high = (number_format(bound, force_grouping=True) for bound in self._bounds)
        bounds = {"low": low, "high": high}
        if self.required:
            return _("Enter a number from %(low)s to %(high)s.") % bounds
        return _("Enter a number from %(low)s to %(high)s, or nothing.") % bounds


def _without_commas(value: Any) -> Any:
    return value.replace(",", "") if isinstance(value, str) else value
