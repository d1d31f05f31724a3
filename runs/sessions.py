"""Sessions in the database, as Django keeps them; looked up by a query that is prepared."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.models import Session
from django.utils import timezone

from runs.querysets.prepared import Prepared, moment, text

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
