"""A person's own assignment: looked up, and held while what they say of its run is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from judging.models import Assignment, StudyMember
from judging.studies.queue.assignment import lock_study
from runs.models.prepared import Prepared, moment, number


def _own() -> QuerySet[Assignment]:
    return Assignment.objects.select_related("item__study").filter(
        pk=number("assignment"),
        user=number("user"),
        item__study=number("study"),
        item__study__members__user=number("user"),
        item__study__members__left_at=None,
        item__study__members__part=StudyMember.Part.ANNOTATOR,
    )


def _locked() -> QuerySet[Assignment]:
    return _own().select_for_update(of=("item", "self"), no_key=True)


_OWN = Prepared(_own)
_LOCKED = Prepared(_locked)
_IN_HAND = Prepared(lambda: _locked().filter(leased_until__gt=moment("now")))


def own_assignment(*, assignment: int, user: int, study: int) -> Assignment | None:
    """The assignment with its run and study, if it is the person's and they annotate there."""
    return _OWN.first(assignment=assignment, user=user, study=study)


@contextmanager
def held_assignment(*, assignment: int, user: int, study: int) -> Iterator[Assignment | None]:
    """The same inside a transaction in which nobody else changes the assignment or its run.

    One whose time ran out is held together with its study: the place may be given to somebody else
    at this moment. That is another transaction than the one it was first looked for in, which may
    hold what it waited for; the study is locked before the run.
    """
    asked = {"assignment": assignment, "user": user, "study": study}
    with transaction.atomic():
        if held := _IN_HAND.first(now=timezone.now(), **asked):
            yield held
            return
    with transaction.atomic():
        if _OWN.first(**asked):
            lock_study(study)
            held = _LOCKED.first(**asked)
        yield held
