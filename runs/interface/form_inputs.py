"""Inputs of forms as Django writes them, without a template for each: a page may have dozens."""

from collections.abc import Mapping
from html import escape
from typing import Any

from django.forms.renderers import DjangoTemplates
from django.http import HttpRequest
from django.utils.safestring import mark_safe

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
