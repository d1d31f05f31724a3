"""Sessions in the database, as Django keeps them; looked up by a query that is prepared.

Versions that are replaced one by one, forward or back, share them: nobody is logged out by that.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.models import Session
from django.utils import timezone

from runs.models.prepared import Prepared, moment, text

ACCOUNTS = "runs.accounts.backends.Accounts"
KNOWN_TO_ALL = "django.contrib.auth.backends.ModelBackend"
"""What `ACCOUNTS` took the place of. Django logs out whose session names none of the settings'
backends, so sessions go on naming this one, which the versions before it know too."""

_LIVING = Prepared(
    lambda: Session.objects.filter(
        session_key=text("key"),
        expire_date__gt=moment("now"),
    ).values_list("session_data", flat=True)
)


class SessionStore(DatabaseSessions):
    """The same rows as Django's own store."""

    def load(self) -> dict[str, Any]:
        """What the session holds; nothing, and no key either, where it is over or never was."""
        found, key = None, self.session_key or ""
        if key.isalnum():  # a cookie may hold anything, also what PostgreSQL takes for no text
            found = _LIVING.first(key=key, now=timezone.now())
        if found is None:
            self._session_key = None
            return {}
        return self.decode(found)

    def encode(self, session_dict: dict[str, Any]) -> str:
        """As it is stored, with the name of the backend that every version knows."""
        coded: str = super().encode(_renamed(session_dict, ACCOUNTS, KNOWN_TO_ALL))
        return coded

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """As the site reads it, whichever version stored it."""
        return _renamed(super().decode(session_data), KNOWN_TO_ALL, ACCOUNTS)


def _renamed(held: dict[str, Any], name: str, other: str) -> dict[str, Any]:
    return held | {BACKEND_SESSION_KEY: other} if held.get(BACKEND_SESSION_KEY) == name else held
