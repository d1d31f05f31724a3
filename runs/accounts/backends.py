"""Who is logged in, and what they may do: looked up with every request, by prepared queries."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Permission
from django.db.models import Model, QuerySet

from runs.models import User
from runs.models.prepared import Prepared, number

_PERSON = Prepared(lambda: User.objects.filter(pk=number("user")))


def _allowed() -> QuerySet[Any, tuple[str, str]]:
    """What the person themselves or a group of theirs may do: app and name of each."""
    own, of_groups = (
        Permission.objects.filter(**{whose: number("user")})
        .order_by()
        .values_list("content_type__app_label", "codename")
        for whose in ("user", "group__user")
    )
    return own.union(of_groups)


_ALLOWED = Prepared(_allowed)


class Accounts(ModelBackend):
    """Names and passwords, as Django keeps them."""

    def get_user(self, user_id: int) -> User | None:
        """The person, unless the account is gone or switched off."""
        user = _PERSON.first(user=user_id)
        return user if user is not None and self.user_can_authenticate(user) else None

    def get_all_permissions(self, user_obj: Any, obj: Model | None = None) -> set[str]:
        """The same as Django's own answer, which asks twice; kept with the person as there."""
        if obj is not None or not user_obj.is_active or user_obj.is_superuser:
            return super().get_all_permissions(user_obj, obj)
        if not hasattr(user_obj, "_perm_cache"):
            user_obj._perm_cache = {f"{app}.{name}" for app, name in _ALLOWED.all(user=user_obj.pk)}
        allowed: set[str] = user_obj._perm_cache
        return allowed
