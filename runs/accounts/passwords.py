"""What happens to passwords, whatever page or command sets them."""

from __future__ import annotations

from runs.accounts.audit_log import record_act
from runs.models import User
from runs.models.audit_kinds import PASSWORD_CHANGED


class WrittenDown:
    """Among the validators, because those are told of every password once it is set.

    It finds no password wrong. A hash that is only made anew at log-in is no change.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Whatever it is."""

    def get_help_text(self) -> str:
        return ""

    def password_changed(self, password: str, user: User | None = None) -> None:
        """Write down whose it was, never which."""
        if user is not None:
            record_act(PASSWORD_CHANGED, about=user, words=user.username)
