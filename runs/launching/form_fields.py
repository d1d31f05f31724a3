"""Form fields for numbers that say themselves what can be entered, and what fields offer.

Those for numbers are plain text fields for the browser: of what is no number a field of its own
kind sends nothing, which then looks like "no limit".
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class _BoundedField(forms.Field):
    """A number from `min_value` to `max_value`; commas between thousands are passed over."""

    widget = forms.TextInput
    input_mode: str
    words: str | Promise

    def __init__(
        self, *, min_value: int | Decimal, max_value: int | Decimal, **options: Any
    ) -> None:
        options |= {"min_value": min_value, "max_value": max_value}
        super().__init__(**options)
        self._bounds = (min_value, max_value)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {"inputmode": self.input_mode, "autocomplete": "off"}

    def clean(self, value: Any) -> Any:
        try:
            return super().clean(value.replace(",", "") if isinstance(value, str) else value)
        except forms.ValidationError:
            low, high = (number_format(bound, force_grouping=True) for bound in self._bounds)
            words = str(self.words) % {"low": low, "high": high}
            raise forms.ValidationError(words, code="number") from None


class WholeNumberField(_BoundedField, forms.IntegerField):
    """A whole number."""

    input_mode = "numeric"
    words = _("Enter a whole number from %(low)s to %(high)s.")


class AmountField(_BoundedField, forms.DecimalField):
    """A number with decimals."""

    input_mode = "decimal"
    words = _("Enter a number from %(low)s to %(high)s.")


def offer(form: forms.Form, name: str, choices: Sequence[Any]) -> None:
    """Have a field of the form offer these choices."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101 (mypy)
    field.choices = choices
