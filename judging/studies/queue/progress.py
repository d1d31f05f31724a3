"""How far one annotator has come in a study."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.db.models import Count, Min, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from judging.models import Assignment, Label, Study, StudyItem
from judging.studies.queue.assignment import candidates_by_study, repeats_due_by_study
from judging.studies.queue.order import MAX_SKIPS
from runs.models import User

ENOUGH = 3
RECENT = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """One person's own work in a study; says nothing of anybody else's labels.

    Attributes:
        done: labels given, hidden repeats among them.
        left: runs that the queue will still offer now, hidden repeats among them.
        left_alone: runs skipped so often that they are not offered again by themselves.
        seconds_left: at the person's usual pace; None before a few labels.
        next_free: when a place that another person holds runs out at the latest.
    """

    done: int
    left: int
    left_alone: int
    seconds_left: float | None
    next_free: datetime | None

    @property
    def total(self) -> int:
        return self.done + self.left

    @property
    def current(self) -> int:
        return self.done + 1


def progress_of(*, study: Study, user: User) -> Progress:
    """The person's progress now."""
    return progress_of_each([study], user)[study.pk]


def progress_of_each(studies: Sequence[Study], user: User) -> dict[int, Progress]:
    """The person's progress in each of the studies now, by its id; queries do not add up."""
    now = timezone.now()
    labels = Label.objects.filter(item__study__in=studies, annotator=user).order_by()
    done = Counter(dict(labels.values_list("item__study").annotate(n=Count("pk"))))
    still_open = [study for study in studies if study.is_open]
    paces = _paces(still_open, user)
    offered, alone, fresh = Counter[int](), Counter[int](), Counter[int]()
    candidates = candidates_by_study(studies=still_open, user=user, now=now)
    for key, waiting in candidates.items():
        for candidate in waiting:
            if candidate.state == Assignment.State.SKIPPED and candidate.n_skips >= MAX_SKIPS:
                alone[key] += 1
                continue
            offered[key] += 1
            fresh[key] += candidate.state is None
    offered.update(repeats_due_by_study(studies=still_open, user=user, left=fresh))
    without = [study for study in still_open if not offered[study.pk]]
    free = _next_free(without, user, now) if without else {}
    return {
        study.pk: Progress(
            done=done[study.pk],
            left=(left := offered[study.pk]),
            left_alone=alone[study.pk],
            seconds_left=None if (pace := paces.get(study.pk)) is None else pace * left,
            next_free=free.get(study.pk),
        )
        for study in studies
    }


def _paces(studies: Sequence[Study], user: User) -> dict[int, float]:
    """Seconds a label, over the person's last ones in each study; none where they are few."""
    given = Label.objects.filter(item__study__in=studies, annotator=user, seconds__gt=0)
    latest = Window(RowNumber(), partition_by="item__study", order_by="-submitted_at")
    recent = given.annotate(place=latest).filter(place__lte=RECENT).order_by()
    timed: dict[int, list[float]] = defaultdict(list)
    for study, seconds in recent.values_list("item__study", "seconds"):
        timed[study].append(seconds)
    return {study: median(times) for study, times in timed.items() if len(times) >= ENOUGH}


def _next_free(studies: Sequence[Study], user: User, now: datetime) -> dict[int, datetime]:
    """When the first place that others hold, on a run open to this person, may become free."""
    waiting = StudyItem.objects.filter(
        study__in=studies, status=StudyItem.Status.OPEN
    ).unlabelled_by(user)
    held = Assignment.objects.filter(
        item__in=waiting.order_by().values("pk"),
        state=Assignment.State.LEASED,
        is_repeat=False,
        leased_until__gt=now,
    )
    others = held.exclude(user=user).order_by()
    return dict(others.values_list("item__study").annotate(first=Min("leased_until")))
