"""Sessions in the database, as Django keeps them; looked up by a query that is prepared."""

from __future__ import annotations

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.models import Session
from django.utils import timezone

from runs.querysets.prepared import Prepared, moment, text

_LIVING = Prepared(
    lambda: Session.objects.filter(
        session_key=text("key"),
        expire_date__gt=moment("now"),
    )
)


class SessionStore(DatabaseSessions):
    """The same rows as Django's own store."""

    def _get_session_from_db(self) -> Session | None:
        found, key = None, self.session_key or ""
        if key.isalnum():  # a cookie may hold anything, also what PostgreSQL takes for no text
            found = _LIVING.first(key=key, now=timezone.now())
        if found is None:
            self._session_key = None
        return found
