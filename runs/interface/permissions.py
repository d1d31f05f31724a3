"""Pages that only some roles may open."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http.response import HttpResponseBase

from runs.interface.fragments import AppRequest
from runs.models import User

P = ParamSpec("P")
View = Callable[Concatenate[AppRequest, P], HttpResponseBase]


class RoleNeededError(PermissionDenied):
    """403 of what needs permissions that the person lacks; its page names the roles that do."""

    def __init__(self, permissions: tuple[str, ...]) -> None:
        super().__init__()
        self.permissions = permissions


def demand(user: User, *permissions: str) -> None:
    """Raises RoleNeededError for who lacks one of the permissions."""
    if not user.has_perms(permissions):
        raise RoleNeededError(permissions)


def needs(*permissions: str) -> Callable[[View[P]], View[P]]:
    """Admits to a view who has all of the permissions."""

    def guard(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: AppRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            demand(request.user, *permissions)
            return view(request, *args, **kwargs)

        return guarded

    return guard
