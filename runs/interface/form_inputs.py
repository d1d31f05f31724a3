"""What forms share: inputs without a template for each, and fields for numbers.

The inputs are as Django writes them; a page may have dozens. Fields for numbers say themselves what
can be entered, and are plain text for the browser: of what is no number a field of its own kind
sends nothing, which then looks like "no limit".
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from html import escape
from typing import Any

from django import forms
from django.forms.renderers import DjangoTemplates
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.safestring import mark_safe
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


_KINDS = ("hidden", "text", "number", "password", "email", "url", "checkbox")
_PLAIN = {f"django/forms/widgets/{kind}.html" for kind in _KINDS}
_TEXT = "django/forms/widgets/textarea.html"
_OPTIONS = {f"django/forms/widgets/{kind}_option.html" for kind in ("radio", "checkbox")}


class InputRenderer(DjangoTemplates):
    """Django's own, but for inputs that are one tag."""

    def render(
        self, template_name: str, context: Mapping[str, Any], request: HttpRequest | None = None
    ) -> str:
        widget = context.get("widget", {})
        if template_name == _TEXT:
            attrs = "".join(_attributes({"name": widget["name"]} | widget["attrs"]))
            text = escape(widget["value"] or "")
            return mark_safe(f"<textarea{attrs}>\n{text}</textarea>")  # noqa: S308 (escaped)
        is_option = template_name in _OPTIONS and not widget.get("wrap_label")
        if not is_option and template_name not in _PLAIN:
            return super().render(template_name, dict(context), request)
        value = widget["value"]
        given = {"type": widget["type"], "name": widget["name"]}
        given |= ({} if value is None else {"value": value}) | widget["attrs"]
        return mark_safe(f"<input{''.join(_attributes(given))}>")  # noqa: S308 (of escaped parts)


def _attributes(given: Mapping[str, Any]) -> list[str]:
    return [
        f" {escape(name)}" if value is True else f' {escape(name)}="{escape(str(value))}"'
        for name, value in given.items()
        if value is not False
    ]
