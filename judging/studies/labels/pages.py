"""What the annotation page shows and what stands beside it: one's progress, settled examples; and
the page with nothing left to annotate.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Prefetch, Subquery, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, LabelRevision, Study, StudyItem, Success
from judging.models.labels import UNDO_S
from judging.studies.access import record_unblindings
from judging.studies.blinding import (
    is_blinded_to,
    items_with_open_labels,
    states_hidden_from,
    visibility_while_labelling,
)
from judging.studies.labels.assignment import Offer, repeats_due_by_study
from judging.studies.labels.forms import LabelForm, SkipForm
from judging.studies.labels.open_runs import OpenRuns, find_open_runs, next_free
from judging.studies.labels.state import own_comments
from judging.studies.protocols import guideline_context
from runs.models import Attachment, Run, User
from runs.viewer.timeline.timeline import timeline_context

ENOUGH = 3
RECENT = 20
SHORT = 400
"""Letters of guidelines that stand open beside every run."""


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


def progress_of_each(studies: Sequence[Study], user: User) -> dict[int, Progress]:
    """The person's progress in each of the studies now, by its id; queries do not add up."""
    still_open = [study for study in studies if study.is_open]
    known = find_open_runs(still_open, user, timezone.now()).open_runs
    given = OwnLabels.of(studies, user)
    return _progress(studies, user, known, given)


def _progress(
    studies: Sequence[Study],
    user: User,
    known: Mapping[int, OpenRuns],
    given: Mapping[int, OwnLabels],
) -> dict[int, Progress]:
    """The same, from what each open study still offers, and the labels given in each."""
    offered = {pk: runs.n_fresh + sum(1 for _ in runs.offered()) for pk, runs in known.items()}
    still_open = [study for study in studies if study.pk in known]
    fresh = {pk: runs.n_fresh for pk, runs in known.items()}
    for pk, due in repeats_due_by_study(studies=still_open, user=user, left=fresh).items():
        offered[pk] += due
    without = [study for study in still_open if not offered[study.pk]]
    free = next_free(without, user, timezone.now()) if without else {}
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


class Given(NamedTuple):
    """A label that the person gave, as far as pages show it."""

    pk: UUID
    success: str
    status: str
    """Of its item."""
    seconds_left: float
    """While it can be undone."""


@dataclass(frozen=True, slots=True)
class OwnLabels:
    """One person's labels in a study, hidden repeats among them: how many, and the last ones.

    Attributes:
        seconds: that the last ones took, the latest first, `RECENT` at most.
        just_given: the latest, as long as one that is not the last of its run can be undone.
        latest_at: when the latest was given; not known of several studies at once.
    """

    done: int = 0
    seconds: Sequence[float] = ()
    just_given: Given | None = None
    latest_at: datetime | None = None

    @classmethod
    def in_study(cls, study: Study, user: User) -> OwnLabels:
        """In one study; one query."""
        own = Label.objects.filter(item__study=study, annotator=user)
        counted = own.order_by().values("annotator").values(n=Count("pk"))
        changed = Exists(LabelRevision.objects.filter(label=OuterRef("pk")))
        rows = own.order_by("-submitted_at").values_list(
            *("pk", "success", "item__status", "seconds", "submitted_at"),
            Subquery(counted),
            changed,
        )[:RECENT]
        given, seconds, done, latest = None, list[float](), 0, None
        now = timezone.now()
        for pk, success, status, took, at, n, was_changed in rows:
            seconds.append(took)
            done, latest = n, latest or at
            left = UNDO_S - (now - at).total_seconds()
            if given is None and left > 0 and not was_changed:
                given = Given(pk, success, status, left)
        return cls(done, seconds, given, latest)

    @classmethod
    def of(cls, studies: Sequence[Study], user: User) -> dict[int, OwnLabels]:
        """By the study's id, without those that have none and without `just_given`; one query."""
        by_study = partial(Window, partition_by="item__study")
        own = Label.objects.filter(item__study__in=studies, annotator=user).annotate(
            place=by_study(RowNumber(), order_by="-submitted_at"), done=by_study(Count("pk"))
        )
        latest = own.filter(place__lte=RECENT).order_by("item__study", "place")
        found: dict[int, list[float]] = defaultdict(list)
        numbers = {}
        for study, took, done in latest.values_list("item__study", "seconds", "done"):
            found[study].append(took)
            numbers[study] = done
        return {study: cls(numbers[study], seconds) for study, seconds in found.items()}

    @property
    def pace(self) -> float | None:
        """Seconds a label, over the last ones whose time is known; None where they are few."""
        times = [seconds for seconds in self.seconds if seconds > 0]
        return median(times) if len(times) >= ENOUGH else None


def annotate_context(
    assignment: Assignment, user: User, form: LabelForm | None = None, offer: Offer | None = None
) -> dict[str, Any]:
    """The run with its timeline, the form as it stands, and the person's own progress.

    Args:
        offer: what gave the person the run just now.
    """
    study = assignment.item.study
    run = _run_shown(assignment, user)
    given = OwnLabels.in_study(study, user)
    comments, open_runs = own_comments(assignment), offer and offer.open_runs
    if offer and offer.is_new:
        comments = comments.none()
    if open_runs is None:
        open_runs = find_open_runs([study], user, timezone.now()).open_runs[study.pk]
    form = form or LabelForm(for_=assignment, key=str(uuid.uuid4()))
    pictures = run.attachments.filter(role="goal_image") if run.has_goal_pictures else None
    progress = _progress([study], user, {study.pk: open_runs}, {study.pk: given})[study.pk]
    return {
        "study": study,
        "assignment": assignment,
        "run": run,
        "goal": run.goal or run.task.goal,
        "goal_pictures": list(pictures.values_list("blob_id", flat=True)) if pictures else [],
        "form": form,
        "is_change": form["version"].value() not in (None, ""),
        "is_draft": form.is_bound or bool(assignment.draft),
        "skip_form": SkipForm(initial={"assignment": assignment.pk}, auto_id="skip_%s"),
        **guideline_context(form.newest),
        "guideline_is_open": form.newest is not None
        and (len(form.newest.text) <= SHORT or not progress.done),
        "progress": progress,
        "given": given.just_given,
        "saved_at": assignment.draft_saved_at or given.latest_at,
        "comments": comments,
        **timeline_context(run, user),
    }


def _run_shown(assignment: Assignment, user: User) -> Any:
    """The run with what its annotator may see of it, and whether its goal has pictures."""
    pictures = Attachment.objects.filter(run=OuterRef("pk"), role="goal_image")
    visibility = visibility_while_labelling(assignment, user)
    runs = Run.objects.visible_with(visibility).named(visibility).select_related("task")
    return runs.annotate(has_goal_pictures=Exists(pictures)).only(*READ).get()


READ = (
    *("goal", "n_steps", "seconds", "status", "outcome", "end_reason", "fault"),
    *("final_answer", "error_message"),
    *("task__goal", "task__external_id", "task__site"),
)
"""What the page and its timeline read of a run, beside what `visible_with` adds."""


def done_context(study: Study, user: User) -> dict[str, Any]:
    """Why there is nothing to annotate now, what happens next, and what can still be done."""
    own = StudyItem.objects.filter(study=study, labels__annotator=user, labels__is_repeat=False)
    labelled = own.exclude(states_hidden_from(user))
    given = OwnLabels.in_study(study, user)
    still_open = [study] if study.is_open else []
    known = find_open_runs(still_open, user, timezone.now()).open_runs
    return {
        "study": study,
        "progress": _progress([study], user, known, {study.pk: given})[study.pk],
        "skipped": Assignment.objects.filter(
            item__study=study,
            item__status=StudyItem.Status.OPEN,
            user=user,
            state=Assignment.State.SKIPPED,
        ).select_related("item__run__task"),
        "n_waiting": labelled.filter(status=StudyItem.Status.OPEN).count(),
        "n_disputed": Dispute.objects.waiting().filter(item__in=labelled.values("pk")).count(),
        "n_settled": labelled.filter(status=StudyItem.Status.SETTLED).count(),
        "given": given.just_given,
    }


EXAMPLES, LOOKED_AT = 3, 20


def examples_beside(assignment: Assignment, user: User) -> list[StudyItem]:
    """Settled runs of other tasks that the person labelled in this study, the newest of each; a
    success and a failure are among them where there are both.

    None of a run that the person is to judge, or is judging again, anywhere. That they have seen
    these is recorded: none of them is shown to them again as a hidden repeat. Each has
    `own_labels`.
    """
    task = assignment.item.run.task
    own = Label.objects.independent().filter(annotator=user)
    settled = items_with_open_labels(user).filter(
        Exists(own.filter(item=OuterRef("pk"))),
        study=assignment.item.study_id,
        status=StudyItem.Status.SETTLED,
    )
    others = settled.exclude(run__task=task.pk).exclude(
        run__task__external_id=task.external_id, run__task__task_set__name=task.task_set.name
    )
    newest = list(
        others.exclude(is_blinded_to("run", user))
        .select_related("verdict", "run__task")
        .prefetch_related(Prefetch("labels", own, to_attr="own_labels"))
        .order_by("-verdict__decided_at", "-pk")[:LOOKED_AT]
    )
    by_task: dict[str, StudyItem] = {}
    for item in newest:
        by_task.setdefault(item.run.task.external_id, item)
    found = _of_both_verdicts(list(by_task.values()))
    record_unblindings(user=user, items=found, reason="examples beside the guidelines")
    return found


def _of_both_verdicts(items: list[StudyItem]) -> list[StudyItem]:
    """As many as are shown, in their order: the first of each verdict, then the others."""
    first_of = {item.verdict.verdict: item for item in reversed(items)}
    both = [first_of[each] for each in (Success.SUCCESS, Success.FAILURE) if each in first_of]
    chosen = [*both, *(item for item in items if item not in both)][:EXAMPLES]
    return sorted(chosen, key=items.index)
