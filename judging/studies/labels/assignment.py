"""Assigning runs to annotators.

Every assignment locks the study's row (SQLite: the whole database, for its transactions are
immediate), so that two people who ask at the same moment are served one after the other and
never get the same one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from judging.models import Assignment, Label, Study, StudyItem, StudyMember
from judging.models.labels import LabelQuerySet
from judging.studies.labels.order import (
    Candidate,
    choose_repeat,
    in_order,
    repeat_comes_next,
    repeats_due,
)
from runs.models import User

State = Assignment.State


class NotAssignableError(Exception):
    """The run cannot be assigned to this person: judged by others, or not theirs at all."""


def lease_length() -> timedelta:
    """How long a run stays in one person's hands without a sign of life."""
    return timedelta(seconds=settings.ENV.ASSIGNMENT_LEASE_S)


class Offer(NamedTuple):
    """The run the person should judge now, leased to them, and all that they may judge."""

    assignment: Assignment | None
    candidates: Sequence[Candidate] = ()


@transaction.atomic
def offer_next(*, study: Study, user: User) -> Offer:
    """What to judge now; no assignment when nothing is left.

    Asking again gives the same run until it is submitted or skipped, so a lost session or a
    second tab loses nothing and takes no second run.
    """
    if not _may_annotate(study, user):
        return Offer(None)
    now = timezone.now()
    candidates = open_candidates(study=study, user=user, now=now)
    at_work = _shown_again([study], user).filter(state=State.LEASED).first()
    ordered = in_order(candidates, seed=study.sample_seed, user_id=user.pk)
    if at_work and not (ordered and ordered[0].held):
        return Offer(_lease(at_work.item_id, user, now, is_repeat=True), candidates)
    if not (ordered and ordered[0].state == State.LEASED):
        repeat = _next_repeat(
            study, user, fresh=sum(candidate.state is None for candidate in ordered)
        )
        if repeat is not None:
            return Offer(_lease(repeat, user, now, is_repeat=True), candidates)
    if not ordered:
        return Offer(None, candidates)
    first = ordered[0]
    candidates[candidates.index(first)] = replace(first, state=State.LEASED, held=True)
    return Offer(_lease(first.item_id, user, now), candidates)


@transaction.atomic
def reassign(*, study: Study, user: User, item: StudyItem) -> Assignment:
    """Lease one particular run again: one that was skipped, or whose label is to be changed.

    Raises:
        NotAssignableError: it was never assigned to the person, or enough others label it.
    """
    if not _may_annotate(study, user):
        raise NotAssignableError
    now = timezone.now()
    assignment = Assignment.objects.filter(item=item, user=user, is_repeat=False).first()
    if assignment is None:
        raise NotAssignableError
    if assignment.state == State.SUBMITTED:
        assignment.opened_at = now
        assignment.save(update_fields=["opened_at"])
        return assignment
    candidates = open_candidates(study=study, user=user, now=now)
    if item.pk not in {candidate.item_id for candidate in candidates}:
        raise NotAssignableError
    return _lease(item.pk, user, now)


@transaction.atomic
def skip(*, assignment: Assignment, user: User, reason: str) -> None:
    """Give the run back, for now. It returns at the end of the person's queue."""
    now = timezone.now()
    current = Assignment.objects.select_for_update().get(pk=assignment.pk, user=user)
    if current.state != State.LEASED:
        return
    current.state = State.SKIPPED
    current.skip_reason = reason
    current.skipped_at = now
    current.leased_until = now
    current.n_skips += 1
    current.save()


@transaction.atomic
def save_draft(
    *, assignment: Assignment, user: User, draft: dict[str, Any], seconds: float | None
) -> datetime:
    """Keep what has been filled in so far, and the assignment; returns when.

    Args:
        seconds: active time since the last save, as the page measured it.
    """
    now = timezone.now()
    current = Assignment.objects.select_for_update().get(pk=assignment.pk, user=user)
    if current.state != State.SKIPPED:
        add_active_time(current, seconds, now)
        current.draft = draft
        current.draft_saved_at = now
        is_held = current.state == State.LEASED and current.leased_until > now
        if is_held:  # an expired one may have gone to somebody else
            current.leased_until = now + lease_length()
        current.save()
    return now


def add_active_time(assignment: Assignment, seconds: float | None, now: datetime) -> None:
    """Add the page's measure of active time, never more than the clock says has passed.

    Without a measure (no script) the clock's own span counts.
    """
    since = max(filter(None, (assignment.opened_at, assignment.draft_saved_at)))
    passed = max(0.0, (now - since).total_seconds())
    assignment.seconds += passed if seconds is None else min(max(0.0, seconds), passed)


def open_candidates(*, study: Study, user: User, now: datetime) -> list[Candidate]:
    """Every run of the study that the person may still label and that others do not fill."""
    return candidates_by_study(studies=[study], user=user, now=now)[study.pk]


def candidates_by_study(
    *, studies: Sequence[Study], user: User, now: datetime
) -> dict[int, list[Candidate]]:
    """The same of each of the studies, by its id; two queries."""
    items = (
        StudyItem.objects.filter(study__in=studies)
        .unlabelled_by(user)
        .not_unblinded_for(user)
        .assignable(user, now)
    )
    assigned = Assignment.objects.filter(item__study__in=studies, user=user, is_repeat=False)
    # Rows and no objects: somebody may have thousands, of which few are still to be labelled.
    rows: Any = assigned.order_by().values_list(
        "item", "state", "leased_until", "n_skips", "skipped_at"
    )
    own = {item: fields for item, *fields in rows}
    found: dict[int, list[Candidate]] = {study.pk: [] for study in studies}
    for study, pk, taken in items:
        if pk not in own:
            found[study].append(Candidate(pk, taken))
            continue
        state, leased_until, n_skips, skipped_at = own[pk]
        candidate = Candidate(
            pk,
            taken,
            state=state,
            held=state == State.LEASED and leased_until > now,
            n_skips=n_skips,
            skipped_at=skipped_at if state == State.SKIPPED else None,
        )
        found[study].append(candidate)
    return found


def _may_annotate(study: Study, user: User) -> bool:
    """Whether the study is open and the person an annotator of it; locks the study's row."""
    return lock_study(study.pk).is_open and is_annotator(study=study, user=user)


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


def _lease(item_id: int, user: User, now: datetime, *, is_repeat: bool = False) -> Assignment:
    """The person's assignment on the item, theirs from now on for the length of a lease."""
    lease = {"leased_until": now + lease_length(), "opened_at": now}
    assignment, created = Assignment.objects.select_related("item__study").get_or_create(
        item_id=item_id, user=user, is_repeat=is_repeat, defaults=lease
    )
    if not created:
        assignment.state = State.LEASED
        assignment.leased_until = lease["leased_until"]
        assignment.opened_at = now
        assignment.save(update_fields=["state", "leased_until", "opened_at"])
    return assignment
