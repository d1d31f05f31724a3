"""Assigning runs to annotators.

Every assignment locks the study's row (SQLite: the whole database, for its transactions are
immediate), so that two people who ask at the same moment are served one after the other and
never get the same one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from judging.models import Assignment, Guideline, Label, Study, StudyItem, StudyMember
from judging.models.labels import LabelQuerySet
from judging.studies.labels.open_runs import OpenRuns, Places, find_open_runs
from runs.models import User

State = Assignment.State
_LEASE = ("state", "leased_until", "opened_at")


class NotAssignableError(Exception):
    """The run cannot be assigned to this person: judged by others, or not theirs at all."""


def lease_length() -> timedelta:
    """How long a run stays in one person's hands without a sign of life."""
    return timedelta(seconds=settings.ENV.ASSIGNMENT_LEASE_S)


class Offer(NamedTuple):
    """The run the person should judge now, leased to them, and all that they may judge.

    Attributes:
        is_new: it was never assigned to them before, so there is nothing of theirs about it.
    """

    assignment: Assignment | None
    open_runs: OpenRuns | None = None
    is_new: bool = False


def offer_from(study: Study, user: User) -> Offer:
    """What to judge now, of a study that the person annotates and that is locked already.

    No assignment when nothing is left. Asking again gives the same run until it is submitted or
    skipped, so a lost session or a second tab loses nothing and takes no second run.
    """
    if not study.is_open:
        return Offer(None)
    now = timezone.now()
    open_runs, own = find_open_runs([study], user, now, for_offer=True)
    waiting = open_runs[study.pk]
    first = waiting.first(Places.for_person(seed=study.sample_seed, user_id=user.pk))
    chosen, is_repeat = first.item_id if first else None, False
    repeats = (item for (item, again), one in own.items() if again and one.state == State.LEASED)
    at_work = next(repeats, None)
    if at_work is not None and not (first and first.held):
        chosen, is_repeat = at_work, True
    elif not (first and first.state == State.LEASED):
        repeat = _next_repeat(study, user, fresh=waiting.n_fresh)
        chosen, is_repeat = (chosen, False) if repeat is None else (repeat, True)
    if chosen is None:
        return Offer(None, waiting)
    if first is not None and first is waiting.next_fresh and not is_repeat:
        waiting = waiting.without_next()
    held = own.get((chosen, is_repeat)) or Assignment(
        item=StudyItem.objects.get(pk=chosen), user=user, is_repeat=is_repeat
    )
    held.item.study = study
    is_new = held.pk is None
    return Offer(_lease(held, now), waiting, is_new)


def annotated_study(study_id: int, user: User, *, is_locked: bool = False) -> Study | None:
    """The study with its newest guidelines, if the person annotates there; one query.

    Args:
        is_locked: nobody else assigns its runs until the transaction ends; see `lock_study`.
    """
    newest = Guideline.objects.select_related("study").filter(study=study_id)
    own = newest.filter(
        study__members__user=user,
        study__members__left_at=None,
        study__members__part=StudyMember.Part.ANNOTATOR,
    ).order_by("-version")
    if is_locked:
        own = own.select_for_update(of=("study",), no_key=True)
    guideline = own.first()
    if guideline is None:  # brought in without guidelines, or not the person's
        bare = Study.objects.of(user, StudyMember.Part.ANNOTATOR).filter(pk=study_id)
        return (bare.select_for_update(of=("self",), no_key=True) if is_locked else bare).first()
    guideline.study.newest_guideline = guideline
    return guideline.study


@transaction.atomic
def reassign(*, study: Study, user: User, item: StudyItem) -> Assignment:
    """Lease one particular run again: one that was skipped, or whose label is to be changed.

    Raises:
        NotAssignableError: it was never assigned to the person, or enough others label it.
    """
    if not lock_study(study.pk).is_open or not is_annotator(study=study, user=user):
        raise NotAssignableError
    now = timezone.now()
    own = Assignment.objects.select_related("item__study")
    assignment = own.filter(item=item, user=user, is_repeat=False).first()
    if assignment is None:
        raise NotAssignableError
    if assignment.state == State.SUBMITTED:
        assignment.opened_at = now
        assignment.save(update_fields=["opened_at"])
        return assignment
    own_runs = find_open_runs([study], user, now).open_runs[study.pk].own
    if item.pk not in {each.item_id for each in own_runs}:
        raise NotAssignableError
    return _lease(assignment, now)


@transaction.atomic
def skip(*, assignment: Assignment, user: User, reason: str) -> int:
    """Give the run back, for now. It returns at the end of the person's queue.

    Returns how often they have skipped it; 0 if it was not in their hands any more.
    """
    now = timezone.now()
    current = Assignment.objects.select_for_update().get(pk=assignment.pk, user=user)
    if current.state != State.LEASED:
        return 0
    current.state = State.SKIPPED
    current.skip_reason = reason
    current.skipped_at = now
    current.leased_until = now
    current.n_skips += 1
    current.save()
    return current.n_skips


def lock_study(study_id: int) -> Study:
    """The study as it is now, of which nobody else assigns runs until the transaction ends.

    Rows that refer to it may come meanwhile.
    """
    return Study.objects.select_for_update(no_key=True).get(pk=study_id)


def is_annotator(*, study: Study, user: User) -> bool:
    """Whether the person is an annotator of the study now."""
    return StudyMember.objects.filter(
        study=study, user=user, part=StudyMember.Part.ANNOTATOR, left_at=None
    ).exists()


def _next_repeat(study: Study, user: User, *, fresh: int) -> int | None:
    """The item to show again now, or None."""
    due = count_repeats_due(study=study, user=user, left=fresh)
    if not due:
        return None
    given = Label.objects.filter(item__study=study, annotator=user).count()
    seed = study.sample_seed
    if not repeat_comes_next(seed=seed, user_id=user.pk, left=fresh, due=due, given=given):
        return None
    eligible = list(_repeatable([study], user).values_list("item", flat=True))
    return choose_repeat(eligible, seed=seed, user_id=user.pk) if eligible else None


def repeats_due(*, share: float, labelled: int, left: int, repeated: int) -> int:
    """How many hidden repeats the person still gets, once all their runs are counted."""
    return max(0, round(share * (labelled + left)) - repeated)


def repeat_comes_next(*, seed: int, user_id: int, left: int, due: int, given: int) -> bool:
    """Whether the next run is a repeat: mixed evenly into the last runs, then to the end."""
    if due == 0:
        return False
    if left == 0:
        return True
    return left <= due and _shuffle_key(seed, user_id, given, "mix") % 2 == 0


def choose_repeat(labelled: list[int], *, seed: int, user_id: int) -> int:
    """Which of the labelled items to show again: any of those labelled longest ago.

    Args:
        labelled: ids of items that may be repeated, the oldest label first; not empty.
    """
    old = labelled[: max(1, len(labelled) // 2)]
    return min(old, key=lambda item_id: _shuffle_key(seed, user_id, item_id, "repeat"))


def _shuffle_key(seed: int, user_id: int, number: int, purpose: str) -> int:
    """A number that is stable for one person and purpose, and unlike any other person's."""
    text = f"{seed}:{user_id}:{number}:{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def count_repeats_due(*, study: Study, user: User, left: int) -> int:
    """How many hidden repeats the person still gets, with so many fresh runs left."""
    return repeats_due_by_study(studies=[study], user=user, left={study.pk: left})[study.pk]


def repeats_due_by_study(
    *, studies: Sequence[Study], user: User, left: Mapping[int, int]
) -> dict[int, int]:
    """The same for each of the studies, by its id; three queries where any repeats at all."""
    due = {study.pk: 0 for study in studies}
    repeating = [study for study in studies if study.repeat_share]
    if not repeating:
        return due
    given = Label.objects.independent().filter(item__study__in=repeating, annotator=user)
    shown = _shown_again(repeating, user).exclude(state=State.LEASED)
    labelled, repeated = _by_study(given), _by_study(shown)
    repeatable = _by_study(_repeatable(repeating, user))
    for study in repeating:
        fresh = left.get(study.pk, 0)
        wanted = repeats_due(
            share=study.repeat_share,
            labelled=labelled.get(study.pk, 0),
            left=fresh,
            repeated=repeated.get(study.pk, 0),
        )
        due[study.pk] = min(wanted, repeatable.get(study.pk, 0) + fresh)
    return due


def _by_study(rows: QuerySet[Any]) -> dict[int, int]:
    """How many of the rows there are of each study."""
    return dict(rows.order_by().values_list("item__study").annotate(n=Count("pk")))


def _shown_again(studies: Sequence[Study], user: User) -> QuerySet[Assignment]:
    return Assignment.objects.filter(item__study__in=studies, user=user, is_repeat=True)


def _repeatable(studies: Sequence[Study], user: User) -> LabelQuerySet:
    """Own labels of runs that were never shown again and never unblinded, the oldest first."""
    shown = _shown_again(studies, user).exclude(state=State.LEASED)
    return (
        Label.objects.independent()
        .filter(item__study__in=studies, annotator=user)
        .exclude(item__in=shown.order_by().values("item"))
        .exclude(item__run__study_items__unblindings__user=user)
        .order_by("submitted_at", "pk")
    )


def _lease(assignment: Assignment, now: datetime) -> Assignment:
    """The assignment, stored as the person's from now on for the length of a lease.

    One statement, whether it is there already or not.
    """
    assignment.state = State.LEASED
    assignment.leased_until = now + lease_length()
    assignment.opened_at = now
    if assignment.pk:
        assignment.save(update_fields=_LEASE)
        return assignment
    Assignment.objects.bulk_create(
        [assignment],
        update_conflicts=True,
        unique_fields=["item", "user", "is_repeat"],
        update_fields=_LEASE,
    )
    return assignment
