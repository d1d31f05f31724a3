"""Reads of the log of acts."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from django.db import models

ActT = TypeVar("ActT", bound=models.Model)


class ActQuerySet(models.QuerySet[ActT]):
    """Acts, the newest first."""

    def before(self, pk: int | None) -> ActQuerySet[ActT]:
        """Those older than this one; all where it is None."""
        return self if pk is None else self.filter(pk__lt=pk)

    def update(self, **_: Any) -> NoReturn:
        raise TypeError("an act never changes")

    def delete(self) -> NoReturn:
        raise TypeError("an act is never deleted")
