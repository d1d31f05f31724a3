"""What the annotation page shows, and the one with nothing left to annotate."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, StepComment, Study, StudyItem
from judging.models.labels import UNDO_S
from judging.studies.labels.forms import LabelForm, SkipForm
from judging.studies.protocols import render_markdown
from judging.studies.queue.progress import progress_of
from runs.models import Run, User
from runs.viewer.timeline.timeline import timeline_context


def annotate_context(
    assignment: Assignment, user: User, form: LabelForm | None = None
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
        "progress": progress_of(study=study, user=user),
        "given": label_just_given(study, user),
        "comments": own_comments(assignment),
        **timeline_context(run, user),
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
