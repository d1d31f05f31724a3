"""The note that people may write beside what they choose."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _


def note_field(longest: int) -> forms.CharField:
    """A field of two lines for a note of at most so many characters; it may stay empty."""
    return forms.CharField(
        label=_("Note"),
        required=False,
        max_length=longest,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
