"""How far one annotator has come in a study."""

from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.utils import timezone

from judging.models import Assignment, Label, Study, StudyItem
from judging.queueing import MAX_SKIPS
from judging.services.assignment import count_repeats_due, open_candidates
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
    now = timezone.now()
    own = Label.objects.filter(item__study=study, annotator=user)
    spent = list(own.order_by("-submitted_at").values_list("seconds", flat=True))
    timed = [seconds for seconds in spent if seconds][:RECENT]
    offered = alone = 0
    fresh = 0
    if study.is_open:
        for candidate in open_candidates(study=study, user=user, now=now):
            if candidate.state == Assignment.State.SKIPPED and candidate.n_skips >= MAX_SKIPS:
                alone += 1
                continue
            offered += 1
            fresh += candidate.state is None
        offered += count_repeats_due(study=study, user=user, left=fresh)
    pace = median(timed) if len(timed) >= ENOUGH else None
    return Progress(
        done=len(spent),
        left=offered,
        left_alone=alone,
        seconds_left=None if pace is None else pace * offered,
        next_free=None if offered or not study.is_open else _next_free(study, user, now),
    )


def _next_free(study: Study, user: User, now: datetime) -> datetime | None:
    """When the first place that others hold, on a run open to this person, may become free."""
    waiting = StudyItem.objects.filter(study=study, status=StudyItem.Status.OPEN).unlabelled_by(
        user
    )
    held = Assignment.objects.filter(
        item__in=waiting.values("pk"),
        state=Assignment.State.LEASED,
        is_repeat=False,
        leased_until__gt=now,
    )
    first = held.exclude(user=user).order_by("leased_until").first()
    return first.leased_until if first else None
