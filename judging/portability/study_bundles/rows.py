"""Storing rows as they were: with the times they had, and people by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from django.db import models

from judging.portability.study_bundles.report import StudyReport
from runs.models import User

M = TypeVar("M", bound=models.Model)


def store_rows(rows: Sequence[M], *times: str) -> None:
    """Insert the rows; `times` name columns that would otherwise say now."""
    if not rows:
        return
    manager = type(rows[0])._default_manager
    wanted = [[getattr(row, name) for name in times] for row in rows]
    manager.bulk_create(rows, batch_size=200)
    if not times:
        return
    for row, values in zip(rows, wanted, strict=True):
        for name, value in zip(times, values, strict=True):
            setattr(row, name, value)
    manager.bulk_update(rows, list(times), batch_size=200)


class People:
    """Accounts by username; who is missing gets one that nobody can log in to."""

    def __init__(self, report: StudyReport) -> None:
        self._report = report
        self._known: dict[str, User] = {}

    def __call__(self, username: str) -> User:
        """The account of that name."""
        if username not in self._known:
            user = User.objects.filter(username=username).first()
            if user is None:
                # As it is spelled there: the same name comes out again.
                user = User(username=username, is_active=False)
                user.set_unusable_password()
                user.save()
                self._report.people.append(username)
            self._known[username] = user
        return self._known[username]

    def maybe(self, username: str | None) -> User | None:
        """The same where there may be nobody."""
        return self(username) if username else None
