"""What the annotation page shows, the one with nothing left to annotate, and one's progress."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Count, Min, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, StepComment, Study, StudyItem
from judging.models.labels import UNDO_S
from judging.studies.labels.assignment import candidates_by_study, repeats_due_by_study
from judging.studies.labels.forms import LabelForm, SkipForm
from judging.studies.labels.order import MAX_SKIPS, Candidate
from judging.studies.protocols import render_markdown
from runs.models import Run, User
from runs.viewer.timeline.timeline import timeline_context

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
        next_free: when an assignment of another person runs out at the latest.
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


def progress_of(
    *, study: Study, user: User, candidates: Sequence[Candidate] | None = None
) -> Progress:
    """The person's progress now; `candidates` are read unless they are given."""
    known = None if candidates is None else {study.pk: candidates}
    return progress_of_each([study], user, known)[study.pk]


def progress_of_each(
    studies: Sequence[Study], user: User, known: Mapping[int, Sequence[Candidate]] | None = None
) -> dict[int, Progress]:
    """The person's progress in each of the studies now, by its id; queries do not add up.

    Args:
        known: what each open study still offers the person, where it was read already.
    """
    now = timezone.now()
    labels = Label.objects.filter(item__study__in=studies, annotator=user).order_by()
    done = Counter(dict(labels.values_list("item__study").annotate(n=Count("pk"))))
    still_open = [study for study in studies if study.is_open]
    paces = _paces(still_open, user)
    offered, alone, fresh = Counter[int](), Counter[int](), Counter[int]()
    if known is None:
        known = candidates_by_study(studies=still_open, user=user, now=now)
    for key, waiting in known.items():
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
    """When the first run that others hold, open to this person, may become free."""
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


def annotate_context(
    assignment: Assignment,
    user: User,
    form: LabelForm | None = None,
    candidates: Sequence[Candidate] | None = None,
) -> dict[str, Any]:
    """The run with its timeline, the form as it stands, and the person's own progress."""
    study = assignment.item.study
    shown = Run.objects.visible_to(user, [assignment.item.run_id])
    run = shown.select_related("task__task_set").get()
    form = form or LabelForm(for_=assignment, key=str(uuid.uuid4()))
    pictures = run.attachments.filter(role="goal_image").values_list("blob_id", flat=True)
    return {
        "study": study,
        "assignment": assignment,
        "run": run,
        "goal": run.goal or run.task.goal,
        "goal_pictures": list(pictures),
        "form": form,
        "is_change": form["version"].value() not in (None, ""),
        "skip_form": SkipForm(initial={"assignment": assignment.pk}, auto_id="skip_%s"),
        "guideline": form.newest,
        "guideline_html": render_markdown(form.newest.text) if form.newest else "",
        "progress": progress_of(study=study, user=user, candidates=candidates),
        "given": label_just_given(study, user),
        "comments": own_comments(assignment),
        **timeline_context(run, user, starts_at_end=True),
    }


def own_comments(assignment: Assignment) -> QuerySet[StepComment]:
    """The person's remarks on the run; in a hidden repeat only those made in it."""
    return StepComment.objects.filter(
        item=assignment.item_id, author=assignment.user_id, is_repeat=assignment.is_repeat
    )


def label_just_given(study: Study, user: User) -> Label | None:
    """The person's latest label, as long as one that is not the last of its run can be undone."""
    since = timezone.now() - timedelta(seconds=UNDO_S)
    recent = Label.objects.filter(item__study=study, annotator=user, submitted_at__gt=since)
    unchanged = recent.filter(revisions=None).select_related("item")
    return unchanged.order_by("-submitted_at").first()


def done_context(study: Study, user: User) -> dict[str, Any]:
    """Why there is nothing to annotate now, what happens next, and what can still be done."""
    labelled = StudyItem.objects.filter(
        study=study, labels__annotator=user, labels__is_repeat=False
    )
    return {
        "study": study,
        "progress": progress_of(study=study, user=user),
        "skipped": Assignment.objects.filter(
            item__study=study,
            item__status=StudyItem.Status.OPEN,
            user=user,
            state=Assignment.State.SKIPPED,
        ).select_related("item__run__task"),
        "n_waiting": labelled.filter(status=StudyItem.Status.OPEN).count(),
        "n_disputed": Dispute.objects.waiting().filter(item__in=labelled.values("pk")).count(),
        "n_settled": labelled.filter(status=StudyItem.Status.SETTLED).count(),
        "given": label_just_given(study, user),
    }
