"""Who is logged in: looked up with every request, so by a query that is prepared."""

from __future__ import annotations

from django.contrib.auth.backends import ModelBackend

from runs.models import User
from runs.querysets.prepared import Prepared, number

_PERSON = Prepared(lambda: User.objects.filter(pk=number("user")))


class Accounts(ModelBackend):
    """Names and passwords, as Django keeps them."""

    def get_user(self, user_id: int) -> User | None:
        """The person, unless the account is gone or switched off."""
        user = _PERSON.first(user=user_id)
        return user if user is not None and self.user_can_authenticate(user) else None
