"""What the annotation page shows, the one with nothing left to annotate, and one's progress."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from statistics import median
from typing import Any

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, LabelRevision, StepComment, Study, StudyItem
from judging.models.labels import UNDO_S
from judging.studies.blinding import visibility_while_labelling
from judging.studies.labels.assignment import Offer, open_runs_by_study, repeats_due_by_study
from judging.studies.labels.forms import LabelForm, SkipForm
from judging.studies.labels.order import OpenRuns
from judging.studies.protocols import render_markdown
from runs.models import Attachment, Run, User
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


def progress_of(*, study: Study, user: User) -> Progress:
    """The person's progress now."""
    return progress_of_each([study], user)[study.pk]


def progress_of_each(studies: Sequence[Study], user: User) -> dict[int, Progress]:
    """The person's progress in each of the studies now, by its id; queries do not add up."""
    still_open = [study for study in studies if study.is_open]
    known = open_runs_by_study(studies=still_open, user=user, now=timezone.now())
    given = OwnLabels.of(studies, user)
    return _progress(studies, user, known, given)


def _progress(
    studies: Sequence[Study],
    user: User,
    known: Mapping[int, OpenRuns],
    given: Mapping[int, OwnLabels],
) -> dict[int, Progress]:
    """The same, from what each open study still offers, and the labels given in each."""
    offered = {pk: len(runs.fresh) + sum(1 for _ in runs.offered()) for pk, runs in known.items()}
    still_open = [study for study in studies if study.pk in known]
    fresh = {pk: len(runs.fresh) for pk, runs in known.items()}
    for pk, due in repeats_due_by_study(studies=still_open, user=user, left=fresh).items():
        offered[pk] += due
    without = [study for study in still_open if not offered[study.pk]]
    free = _next_free(without, user, timezone.now()) if without else {}
    progress = {}
    for study in studies:
        own, left = given.get(study.pk, OwnLabels()), offered.get(study.pk, 0)
        alone = len(known[study.pk].left_alone()) if study.pk in known else 0
        pace = own.pace if study.is_open else None
        progress[study.pk] = Progress(
            done=own.done,
            left=left,
            left_alone=alone,
            seconds_left=None if pace is None else pace * left,
            next_free=free.get(study.pk),
        )
    return progress


@dataclass(frozen=True, slots=True)
class OwnLabels:
    """One person's labels in a study, hidden repeats among them: how many, and the last ones."""

    done: int = 0
    recent: Sequence[Any] = ()
    """With their item, the latest first, `RECENT` at most."""

    @classmethod
    def of(cls, studies: Sequence[Study], user: User) -> dict[int, OwnLabels]:
        """By the study's id, without those that have none; one query."""
        own = Label.objects.filter(item__study__in=studies, annotator=user).select_related("item")
        by_study = partial(Window, partition_by="item__study")
        is_new = Q(submitted_at__gt=timezone.now() - timedelta(seconds=UNDO_S))
        changed = Exists(LabelRevision.objects.filter(label=OuterRef("pk")))
        counted = own.annotate(
            place=by_study(RowNumber(), order_by="-submitted_at"),
            done=by_study(Count("pk")),
            can_be_undone=Case(When(is_new, then=~changed), default=Value(False)),
        )
        found: dict[int, list[Any]] = defaultdict(list)
        for label in counted.filter(place__lte=RECENT).order_by("item__study", "place"):
            found[label.item.study_id].append(label)
        return {study: cls(labels[0].done, labels) for study, labels in found.items()}

    @property
    def pace(self) -> float | None:
        """Seconds a label, over the last ones whose time is known; None where they are few."""
        times = [label.seconds for label in self.recent if label.seconds > 0]
        return median(times) if len(times) >= ENOUGH else None

    @property
    def just_given(self) -> Any:
        """The latest, as long as one that is not the last of its run can be undone."""
        return next((label for label in self.recent if label.can_be_undone), None)


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
    offer: Offer | None = None,
) -> dict[str, Any]:
    """The run with its timeline, the form as it stands, and the person's own progress.

    Args:
        offer: what gave the person the run just now.
    """
    study = assignment.item.study
    run = _run_shown(assignment, user)
    given = OwnLabels.of([study], user)
    comments, open_runs = own_comments(assignment), offer and offer.open_runs
    if offer and offer.is_new:
        comments = comments.none()
    if open_runs is None:
        now = timezone.now()
        open_runs = open_runs_by_study(studies=[study], user=user, now=now)[study.pk]
    form = form or LabelForm(for_=assignment, key=str(uuid.uuid4()))
    pictures = run.attachments.filter(role="goal_image") if run.has_goal_pictures else None
    return {
        "study": study,
        "assignment": assignment,
        "run": run,
        "goal": run.goal or run.task.goal,
        "goal_pictures": list(pictures.values_list("blob_id", flat=True)) if pictures else [],
        "form": form,
        "is_change": form["version"].value() not in (None, ""),
        "skip_form": SkipForm(initial={"assignment": assignment.pk}, auto_id="skip_%s"),
        "guideline": form.newest,
        "guideline_html": render_markdown(form.newest.text) if form.newest else "",
        "progress": _progress([study], user, {study.pk: open_runs}, given)[study.pk],
        "given": given[study.pk].just_given if study.pk in given else None,
        "comments": comments,
        **timeline_context(run, user, starts_at_end=True),
    }


def _run_shown(assignment: Assignment, user: User) -> Any:
    """The run with what its annotator may see of it, and whether its goal has pictures."""
    pictures = Attachment.objects.filter(run=OuterRef("pk"), role="goal_image")
    visibility = visibility_while_labelling(assignment, user)
    runs = Run.objects.visible_with(visibility).named(visibility)
    marked = runs.annotate(has_goal_pictures=Exists(pictures))
    return marked.select_related("task__task_set").get()


def own_comments(assignment: Assignment) -> QuerySet[StepComment]:
    """The person's remarks on the run; in a hidden repeat only those made in it."""
    return StepComment.objects.filter(
        item=assignment.item_id, author=assignment.user_id, is_repeat=assignment.is_repeat
    )


def done_context(study: Study, user: User) -> dict[str, Any]:
    """Why there is nothing to annotate now, what happens next, and what can still be done."""
    labelled = StudyItem.objects.filter(
        study=study, labels__annotator=user, labels__is_repeat=False
    )
    given = OwnLabels.of([study], user)
    now, still_open = timezone.now(), [study] if study.is_open else []
    known = open_runs_by_study(studies=still_open, user=user, now=now)
    return {
        "study": study,
        "progress": _progress([study], user, known, given)[study.pk],
        "skipped": Assignment.objects.filter(
            item__study=study,
            item__status=StudyItem.Status.OPEN,
            user=user,
            state=Assignment.State.SKIPPED,
        ).select_related("item__run__task"),
        "n_waiting": labelled.filter(status=StudyItem.Status.OPEN).count(),
        "n_disputed": Dispute.objects.waiting().filter(item__in=labelled.values("pk")).count(),
        "n_settled": labelled.filter(status=StudyItem.Status.SETTLED).count(),
        "given": given[study.pk].just_given if study.pk in given else None,
    }
