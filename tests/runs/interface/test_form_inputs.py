"""Inputs are written as Django writes them."""

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates

from runs.interface.form_inputs import InputRenderer

HOSTILE = """"><script>&'"""


class Everything(forms.Form):
    text = forms.CharField(max_length=9, help_text="help")
    number = forms.FloatField(min_value=0, required=False)
    hidden = forms.IntegerField(widget=forms.HiddenInput)
    secret = forms.CharField(widget=forms.PasswordInput(attrs={"autocomplete": HOSTILE}))
    mail = forms.EmailField(disabled=True)
    address = forms.URLField(assume_scheme="https")
    box = forms.BooleanField()
    one = forms.ChoiceField(
        choices=[("a", "A"), (HOSTILE, HOSTILE)], widget=forms.RadioSelect(attrs={"form": "f"})
    )
    some = forms.MultipleChoiceField(
        choices=[("a", "A"), ("b", "B")], widget=forms.CheckboxSelectMultiple
    )
    long = forms.CharField(widget=forms.Textarea)
    menu = forms.ChoiceField(choices=[("a", "A"), (HOSTILE, HOSTILE)])


DATA = {
    **dict.fromkeys(("text", "hidden", "mail", "address", "one", "long", "menu"), HOSTILE),
    **{"box": True, "some": ["a", "b"], "number": 1.5},
}


@pytest.mark.parametrize("data", [None, DATA, {"text": "", "one": "a", "some": "a"}])
def test_every_input_is_as_django_writes_it(data: dict[str, object] | None) -> None:
    ours, theirs = (
        Everything(data, renderer=renderer()) for renderer in (InputRenderer, DjangoTemplates)
    )
    for field, other in zip(ours, theirs, strict=True):
        assert str(field) == str(other)
        for option, same in zip(field.subwidgets, other.subwidgets, strict=True):
            assert str(option) == str(same)
            assert option.tag() == same.tag()


def test_forms_of_the_site_are_drawn_so() -> None:
    assert isinstance(Everything().renderer, InputRenderer)
