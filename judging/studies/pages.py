"""What the pages of studies show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.functions import RowNumber

from judging.models import Assignment, Label, Study, StudyItem, StudyMember
from judging.studies.access import studies_hidden_from
from judging.studies.blinding import states_hidden_from, still_judged_by
from judging.studies.labels.open_runs import runs_for_nobody
from judging.studies.labels.pages import Progress, progress_of_each
from runs.interface import paging
from runs.interface.paging import RowCount
from runs.models import Milestone, User

MANAGE = "judging.change_study"
ITEMS_PER_PAGE = 50
HIDDEN = "hidden"
"""Stands for the status of items whose state the person may not know."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study in the list: everybody's progress for who may see it, else only one's own."""

    study: Study
    part: str
    own: Progress | None
    counts: dict[str, RowCount] | None


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member with how much, never what, they have labelled.

    Attributes:
        median_seconds: over labels whose time was measured; None without any.
        last_at: when they gave the last label.
    """

    member: StudyMember
    n_labels: int
    n_repeats: int
    n_skipped: int
    median_seconds: float | None
    last_at: datetime | None


def listed_studies(user: User) -> QuerySet[Study]:
    """The studies that the person may open, open ones first."""
    return Study.objects.listed_for(user).order_by("-is_open", "-created_at", "-pk")


def study_rows(
    user: User, studies: Sequence[Study], own: Mapping[int, Progress] | None = None
) -> list[StudyRow]:
    """The rows of these studies.

    Args:
        own: the person's progress in those that they annotate, where it is known already.
    """
    parts = dict(
        user.study_parts.filter(left_at=None, study__in=studies).values_list("study", "part")
    )
    sees_counts = user.has_perm("judging.view_study")
    counts = _bounded_counts(studies, states_hidden_from(user)) if sees_counts else {}
    annotated = [study for study in studies if parts.get(study.pk) == StudyMember.Part.ANNOTATOR]
    if own is None:
        own = progress_of_each(annotated, user)
    return [
        StudyRow(study, parts.get(study.pk, ""), own.get(study.pk), counts.get(study.pk))
        for study in studies
    ]


def item_counts(study: Study, hidden: Q) -> dict[str, int]:
    """How many runs of the study are open, in dispute, settled, and of how many that is hidden."""
    return _with_total(_counts(Q(study=study), [study.pk], hidden)[study.pk])


def count_for_nobody(study: Study, user: User) -> int:
    """Of how many runs no annotator is left; without those that the person still judges."""
    if not study.is_open:
        return 0
    return runs_for_nobody(study).exclude(still_judged_by(user)).count()


def items_page(
    study: Study, hidden: Q, number: str | None, status: StudyItem.Status | None = None
) -> Page[StudyItem]:
    """A page of the study's runs, found by its keys before any run is looked at.

    Args:
        hidden: runs whose state the person may not know.
        status: of the runs that are listed; all if None.
    """
    items = study.items.order_by("position")
    if status:
        items = items.filter(status=status).exclude(hidden)
    page: Page[Any] = Paginator(items.values_list("pk", flat=True), ITEMS_PER_PAGE).get_page(number)
    shown = items.filter(pk__in=list(page.object_list)).annotate(hides_state=hidden)
    page.object_list = shown.select_related("run__task")
    return page


def runs_with_milestones(study: Study) -> int:
    """How many runs of the study are of a task that has milestones to ask for."""
    in_force = Milestone.objects.in_force().values("task")
    return study.items.filter(run__task__in=in_force).count()


def _counts(wanted: Q, keys: Iterable[int], hidden: Q) -> dict[int, dict[str, int]]:
    """By study and status: how many of the wanted items; `HIDDEN` is that of `hidden` ones."""
    counts = {pk: dict.fromkeys([*StudyItem.Status.values, HIDDEN], 0) for pk in keys}
    told = Case(When(hidden, then=Value(HIDDEN)), default="status")
    items = StudyItem.objects.filter(wanted).order_by().annotate(told=told)
    for pk, status, n in items.values_list("study", "told").annotate(n=Count("pk")):
        counts[pk][status] = n
    return counts


def _with_total(counts: dict[str, int]) -> dict[str, int]:
    return {**counts, "total": sum(counts.values())}


def _bounded_counts(studies: Iterable[Study], hidden: Q) -> dict[int, dict[str, RowCount]]:
    """By study and status, and in all; of no status more items are read than lists count."""
    keys = [study.pk for study in studies]
    beyond = _beyond(keys, hidden)
    wanted = Q(study__in=[pk for pk in keys if not beyond[pk]])
    for pk in keys:
        if beyond[pk]:
            rest = [status for status in StudyItem.Status.values if status not in beyond[pk]]
            wanted |= Q(study=pk, status__in=rest) & ~hidden
    found = {}
    for pk, counts in _counts(wanted, keys, hidden).items():
        for status in beyond[pk]:
            counts[status] = paging.COUNTED
        total = {*beyond[pk], "total"} if beyond[pk] else set()
        found[pk] = {
            name: RowCount(n, is_more=name in total) for name, n in _with_total(counts).items()
        }
    return found


def _beyond(keys: Sequence[int], hidden: Q) -> dict[int, list[str]]:
    """By study: the statuses of which it has more items than lists count."""
    most, statuses = paging.COUNTED, StudyItem.Status.values
    items = StudyItem.objects.filter(~hidden, study=OuterRef("pk")).order_by().values("pk")
    one_more = {
        f"beyond_{status}": Subquery(items.filter(status=status)[most : most + 1])
        for status in statuses
    }
    rows = Study.objects.filter(pk__in=keys).annotate(**one_more).values_list("pk", *one_more)
    return {
        pk: [status for status, item in zip(statuses, found, strict=True) if item is not None]
        for pk, *found in rows.order_by()
    }


def shows_label_times(study: Study, user: User) -> bool:
    """Whether the person may know how long others took, and when: not while they judge a run."""
    return not studies_hidden_from(user).filter(pk=study.pk).exists()


def member_rows(study: Study, *, with_times: bool) -> list[MemberRow]:
    """Members, those who left last. Labels are counted by the database: there may be many.

    Args:
        with_times: else `median_seconds` and `last_at` are None.
    """
    labels = Label.objects.filter(item__study=study).order_by()
    given = {
        user: (n, n_repeats, last_at)
        for user, n, n_repeats, last_at in labels.values_list("annotator").annotate(
            n=Count("pk"), n_repeats=Count("pk", filter=Q(is_repeat=True)), last=Max("submitted_at")
        )
    }
    skipped = dict(
        Assignment.objects.filter(item__study=study, state=Assignment.State.SKIPPED)
        .values_list("user")
        .annotate(n=Count("pk"))
        .values_list("user", "n")
    )
    times = _median_seconds(labels) if with_times else {}
    rows = []
    for member in study.members.select_related("user").order_by("part", "user__username"):
        user = member.user_id
        n, n_repeats, last_at = given.get(user, (0, 0, None))
        rows.append(
            MemberRow(
                member=member,
                n_labels=n - n_repeats,
                n_repeats=n_repeats,
                n_skipped=skipped.get(user, 0),
                median_seconds=times.get(user),
                last_at=last_at if with_times else None,
            )
        )
    return sorted(rows, key=lambda row: row.member.left_at is not None)


def _median_seconds(labels: QuerySet[Label]) -> dict[int, float]:
    """By person: the median of the times that were measured."""
    ranked = labels.filter(seconds__gt=0).annotate(
        n=Window(Count("pk"), partition_by="annotator"),
        twice=Window(RowNumber(), partition_by="annotator", order_by="seconds") * 2,
    )
    middle: dict[int, list[float]] = {}
    # The one in the middle, or the two of an even number.
    for user, seconds in ranked.filter(twice__gte=F("n"), twice__lte=F("n") + 2).values_list(
        "annotator", "seconds"
    ):
        middle.setdefault(user, []).append(seconds)
    return {user: median(found) for user, found in middle.items()}


def own_labels(study: Study, user: User, hidden: Q) -> QuerySet[Label]:
    """The person's labels, the latest first. Hidden repeats stay hidden while the study runs.

    Args:
        hidden: runs whose state the person may not know.
    """
    shown = Q() if not study.is_open else Q(is_repeat=False)
    return (
        Label.objects.filter(shown, item__study=study, annotator=user)
        .annotate(hides_state=Exists(StudyItem.objects.filter(hidden, pk=OuterRef("item"))))
        .select_related("item__run__task", "item__dispute", "item__verdict", "guideline")
        .order_by("-submitted_at")
    )
