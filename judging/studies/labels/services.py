"""Submitting, changing and taking back labels.

Locks are always taken in the order study, item, assignment, so that nobody waits in a circle. What
a label needs is the item's lock: that closes each pair once, and people on other runs continue.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import Assignment, Label, LabelRevision, StepComment, StudyItem, Success
from judging.models.labels import UNDO_GRACE_S, UNDO_S
from judging.studies.access import LABEL_CHANGED, LABEL_SUBMITTED, LABEL_UNDONE
from judging.studies.disputes.services import closing_row
from judging.studies.labels.assignment import is_annotator, lease_length
from judging.studies.labels.state import (
    LabelState,
    add_active_time,
    held_assignment,
    label_state_of,
)
from judging.studies.labels.ticks import Tick, store_ticks, tick_fields
from runs.accounts.audit_log import record_entry
from runs.models import User
from runs.models.audit_log import AuditKind


class LabelRefusedError(Exception):
    """The label was not taken; nothing was changed. Subclasses say why."""

    words: str | Promise
    """What happened, to what, and what to do."""


class NotAnnotatorError(LabelRefusedError):
    """The study is closed, or the person is no annotator of it (any more)."""

    words = _("The study was closed. Nothing was saved.")


class LeaseLostError(LabelRefusedError):
    """The lease ran out and others have judged the run, or have it in work now."""

    words = _(
        "Your time on this run is over, and somebody else has it now. Your "
        "label was not saved; your draft is kept."
    )


class LabelClosedError(LabelRefusedError):
    """The person may know others' labels of the run, so the label stays."""

    words = _("All labels of this run have arrived, so yours can no longer be changed.")


class LabelledElsewhereError(LabelRefusedError):
    """The person labelled this run meanwhile, in another tab or session, and may change that."""

    words = _(
        "You already labelled this run in another tab. Save replaces that label by what "
        "stands here; Cancel leaves it."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a person says of a run, and how it came about.

    Attributes:
        key: made once per form shown; the same key twice is one submission.
        version: of the person's label that the form changes; None for a first label.
        seconds: active time since the last save; None where the page could not measure it.
        guideline: key of the version that was on the page; the newest counts where it is none.
        seen: what was on screen, in the words of `forms.read_seen`.
    """

    success: Success
    confidence: int | None = None
    causes: list[str] = field(default_factory=list)
    failure_step: int | None = None
    rationale: str = ""
    ticks: tuple[Tick, ...] = ()
    key: str
    version: int | None = None
    seconds: float | None = None
    guideline: int | None = None
    seen: str = ""


LABEL_FIELDS = ("success", "confidence", "causes", "failure_step", "rationale", "seen")
"""Columns of a label that the submission and the form have too."""


def submit_label(*, assignment: Assignment, user: User, submission: Submission) -> Label:
    """The person's label, stored; the run is settled or disputed if it was the last one awaited.

    Submitting the same form twice stores it once and returns the same label.

    Raises:
        LabelRefusedError: one of its kinds, with nothing changed.
        Assignment.DoesNotExist: it is gone, or somebody else's.
    """
    study = assignment.item.study_id
    with held_assignment(assignment=assignment.pk, user=user.pk, study=study) as held:
        if held is None:
            Assignment.objects.get(pk=assignment.pk, user=user)
            raise NotAnnotatorError
        return store_label(held=held, user=user, submission=submission)


def store_label(*, held: Assignment, user: User, submission: Submission) -> Label:
    """As `submit_label`, of an assignment that is held already (`held_assignment`).

    Raises:
        LabelRefusedError: one of its kinds, with nothing changed.
    """
    label_state = label_state_of(held, success=submission.success, guideline=submission.guideline)
    label: Label | None = own_label(held) if label_state.has_label else None
    if label and label.idempotency_key == submission.key:
        return label
    if not label_state.may_label:
        raise NotAnnotatorError
    if label:
        return _change(label, held, submission, label_state)
    return _first(held, user, submission, label_state)


def own_label(assignment: Assignment) -> Any:
    """The person's label of the assignment, with its `version`, or None.

    Of a hidden repeat only the label given in it.
    """
    own = Label.objects.filter(
        item=assignment.item_id, annotator=assignment.user_id, is_repeat=assignment.is_repeat
    )
    return own.with_version().first()


def _first(
    assignment: Assignment, user: User, submission: Submission, label_state: LabelState
) -> Label:
    item, now = assignment.item, timezone.now()
    if not label_state.has_room:
        raise LeaseLostError
    add_active_time(assignment, submission.seconds, now)
    label = Label(
        item_id=item.pk,
        annotator_id=user.pk,
        is_repeat=assignment.is_repeat,
        seconds=assignment.seconds,
        guideline_id=label_state.guideline,
        submitted_at=now,
        idempotency_key=submission.key,
        **{name: getattr(submission, name) for name in LABEL_FIELDS},
    )
    label.save(force_insert=True)
    store_ticks(label, submission.ticks)
    _finish(assignment)
    if not assignment.is_repeat:
        item.n_labels += 1
        if item.n_labels >= label_state.labels_per_run:
            agreed = None if label_state.is_contradicted else label.success
            closing_row(item=item, agreed=agreed, now=now).save(force_insert=True)
        item.save(update_fields=["n_labels", "status"])
    _record(LABEL_SUBMITTED, item, user, seen=label.seen)
    return label


def _change(
    label: Label, assignment: Assignment, submission: Submission, label_state: LabelState
) -> Label:
    if label.is_repeat or not label_state.may_revise:
        raise LabelClosedError
    if submission.version is None or submission.version != label.revisions.count():
        raise LabelledElsewhereError
    LabelRevision.objects.create(label=label, content=content_of(label))
    add_active_time(assignment, submission.seconds, timezone.now())
    for name in LABEL_FIELDS:
        setattr(label, name, getattr(submission, name))
    label.seconds = assignment.seconds
    label.guideline_id = label_state.guideline
    label.idempotency_key = submission.key
    label.save()
    label.ticks.all().delete()
    store_ticks(label, submission.ticks)
    _finish(assignment)
    version = submission.version + 1
    _record(LABEL_CHANGED, assignment.item, assignment.user, version, seen=label.seen)
    return label


def _record(
    kind: AuditKind, item: StudyItem, user: User, version: int | None = None, seen: str = ""
) -> None:
    """Says that, and what was seen of the run; not what: that stands in label and history."""
    changes = {} if version is None else {"before": f"{version}", "after": f"{version + 1}"}
    words = f"study {item.study_id}" + (f", saw {seen}" if seen else "")
    record_entry(kind, about=("run", item.run_id), words=words, user=user, **changes)


def _finish(assignment: Assignment) -> None:
    assignment.state = Assignment.State.SUBMITTED
    assignment.draft = {}
    assignment.leased_until = timezone.now()
    assignment.save(update_fields=["state", "draft", "leased_until", "seconds"])


def content_of(label: Label) -> dict[str, Any]:
    """What the label says, as it is kept in the history."""
    return {
        **draft_of(label),
        "seconds": label.seconds,
        "guideline": label.guideline_id,
        "submitted_at": label.submitted_at.isoformat(),
    }


@transaction.atomic
def undo_label(*, label: Label, user: User) -> Assignment:
    """Take back a label just submitted; its run is in the person's hands again, form filled.

    Only while labels of the run are still awaited: the last one shows, by the run's state alone,
    whether the others agree.

    Raises:
        LabelClosedError: too late, or the person may know others' labels of the run.
        NotAnnotatorError: the study is closed, or the person is no annotator of it any more.
    """
    both = Assignment.objects.select_related("item").select_for_update(
        of=("item", "self"), no_key=True
    )
    assignment = both.get(item=label.item_id, user=user, is_repeat=label.is_repeat)
    item = assignment.item
    current = Label.objects.filter(pk=label.pk, annotator=user).first()
    if current is None:  # undone already, by the other of two clicks
        return assignment
    label_state = label_state_of(assignment, success=current.success, guideline=None)
    if not label_state.may_label:
        raise NotAnnotatorError
    now = timezone.now()
    is_late = now - current.submitted_at > timedelta(seconds=UNDO_S + UNDO_GRACE_S)
    if is_late or not label_state.may_revise or current.revisions.exists():
        raise LabelClosedError
    if not current.is_repeat:
        item.n_labels -= 1
        item.save(update_fields=["n_labels"])
    assignment.state = Assignment.State.LEASED
    assignment.draft = draft_of(current)
    assignment.leased_until = now + lease_length()
    assignment.opened_at = now
    assignment.save()
    current.delete()
    _record(LABEL_UNDONE, item, user)
    return assignment


def draft_of(label: Label) -> dict[str, Any]:
    """The label as the fields of the form."""
    fields = {name: getattr(label, name) for name in LABEL_FIELDS}
    return fields | tick_fields(label.ticks.all())


@transaction.atomic
def add_comment(*, assignment: Assignment, user: User, step_index: int, text: str) -> StepComment:
    """A remark on a step, for the person's own eyes until the run's labels open.

    Raises:
        NotAnnotatorError: the study is closed, or the person has left it.
    """
    study = assignment.item.study
    if not study.is_open or not is_annotator(study=study, user=user):
        raise NotAnnotatorError
    return StepComment.objects.create(
        item=assignment.item,
        author=user,
        is_repeat=assignment.is_repeat,
        step_index=step_index,
        text=text,
    )


def remove_comment(*, comment_id: int, user: User) -> None:
    """Take one's own remark away, while nobody else can have seen it."""
    StepComment.objects.filter(
        pk=comment_id, author=user, item__status=StudyItem.Status.OPEN
    ).delete()
