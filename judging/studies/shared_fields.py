"""Forms whose fields are made once for the class, not copied for each form."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from django import forms

Form = TypeVar("Form", bound=type[forms.Form])


def with_shared_fields(form: Form) -> Form:
    """Decorates a form that is made so often that copying its fields is what takes long.

    Django copies each field with its widget, words and checks, for a form may change them. One of
    this class has to copy a field itself before it does.
    """
    form.base_fields = _Shared(form.base_fields)
    return form


class _Shared(dict[str, forms.Field]):
    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(self)
