"""A person's own assignment: looked up, and held while what they say of its run is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from judging.models import Assignment, StudyMember
from judging.studies.queue.assignment import lock_study


def _own(*, assignment: int, user: int, study: int) -> QuerySet[Assignment]:
    return Assignment.objects.select_related("item__study").filter(
        pk=assignment,
        user=user,
        item__study__pk=study,
        item__study__members__user=user,
        item__study__members__left_at=None,
        item__study__members__part=StudyMember.Part.ANNOTATOR,
    )


def own_assignment(*, assignment: int, user: int, study: int) -> Assignment | None:
    """The assignment with its run and study, if it is the person's and they annotate there."""
    return _own(assignment=assignment, user=user, study=study).first()


@contextmanager
def held_assignment(*, assignment: int, user: int, study: int) -> Iterator[Assignment | None]:
    """The same inside a transaction in which nobody else changes the assignment or its run.

    One whose time ran out is held together with its study: the place may be given to somebody else
    at this moment. That is another transaction than the one it was first looked for in, which may
    hold what it waited for; the study is locked before the run.
    """
    own = _own(assignment=assignment, user=user, study=study)
    locked = own.select_for_update(of=("item", "self"), no_key=True)
    with transaction.atomic():
        if held := locked.filter(leased_until__gt=timezone.now()).first():
            yield held
            return
    with transaction.atomic():
        if own.exists():
            lock_study(study)
            held = locked.first()
        yield held
