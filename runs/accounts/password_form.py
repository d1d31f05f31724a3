"""The form by which people change their own password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import PasswordChangeForm
from django.utils.translation import gettext_lazy as _


class OwnPasswordForm(PasswordChangeForm):
    """Django's own, with the rules in one sentence."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["new_password1"].help_text = _(
            "Ten characters or more; not a common one, not like your name, not digits alone."
        )
