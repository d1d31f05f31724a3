"""What one person may do about one run of a study, and what is theirs while they do it: the
assignment, its draft and time, their remarks on steps.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import BigIntegerField, QuerySet
from django.utils import timezone

from judging.models import Assignment, StepComment, StudyItem, StudyMember
from judging.studies.labels.assignment import lease_length, lock_study
from runs.models import User

LARGEST_KEY = BigIntegerField.MAX_BIGINT
FACTS = """
    SELECT
        study.is_open,
        study.labels_per_run,
        EXISTS (
            SELECT 1 FROM judging_studymember AS member
            WHERE member.study_id = study.id AND member.user_id = %(user)s
                AND member.part = %(annotator)s AND member.left_at IS NULL
        ),
        EXISTS (
            SELECT 1 FROM judging_label AS label
            WHERE label.item_id = item.id AND label.annotator_id = %(user)s
                AND label.is_repeat = %(is_repeat)s
        ),
        EXISTS (
            SELECT 1 FROM judging_unblinding AS seen
            JOIN judging_studyitem AS elsewhere ON elsewhere.id = seen.item_id
            WHERE seen.user_id = %(user)s AND elsewhere.run_id = item.run_id
        ) OR EXISTS (
            SELECT 1 FROM judging_assignment AS given
            JOIN judging_studyitem AS elsewhere ON elsewhere.id = given.item_id
            WHERE given.user_id = %(user)s AND given.state = %(submitted)s AND NOT given.is_repeat
                AND elsewhere.run_id = item.run_id AND elsewhere.status <> %(open)s
        ),
        EXISTS (
            SELECT 1 FROM judging_label AS label
            WHERE label.item_id = item.id AND NOT label.is_repeat
                AND label.success <> %(success)s
        ),
        COALESCE(
            (
                SELECT id FROM judging_guideline
                WHERE study_id = study.id AND id = %(guideline)s
            ),
            (
                SELECT id FROM judging_guideline
                WHERE study_id = study.id ORDER BY version DESC LIMIT 1
            )
        )
    FROM judging_studyitem AS item JOIN judging_study AS study ON study.id = item.study_id
    WHERE item.id = %(item)s
"""
"""SQL, since it is asked with every label: as a queryset, Django compiles it in 2.9 ms, more than
all else that stores a label takes (2.3 ms)."""


@dataclass(frozen=True, slots=True)
class LabelState:
    """How a person stands to a run at this moment.

    Attributes:
        may_label: the study is open, and the person an annotator of it.
        has_label: the person has labelled the run (in the same look, the first or the second).
        has_room: a label of the person is still wanted; a hidden repeat must be leased to them.
        may_revise: labels of the run are still awaited, and the person knows of no others.
        labels_per_run: as many as the study wants.
        is_contradicted: another label of the run, no hidden repeat, differs.
        guideline: the guidelines that the person was shown, or the newest of the study.
    """

    may_label: bool
    has_label: bool
    has_room: bool
    may_revise: bool
    labels_per_run: int
    is_contradicted: bool
    guideline: int | None


def label_state_of(assignment: Assignment, *, success: str, guideline: int | None) -> LabelState:
    """How the assignment's person stands to its item, who says `success` of it.

    The caller holds the locks of both, and asks only now: what was read with the locks may be as
    old as the wait for them, apart from the two rows themselves. All of it is one question.

    Args:
        guideline: the guidelines that the person was shown, as the form sent it.
    """
    item = assignment.item
    asked: dict[str, int | str | None] = {
        "item": item.pk,
        "user": assignment.user_id,
        "annotator": StudyMember.Part.ANNOTATOR.value,
        "open": StudyItem.Status.OPEN.value,
        "submitted": Assignment.State.SUBMITTED.value,
        "is_repeat": assignment.is_repeat,
        "success": str(success),
        "guideline": guideline if guideline and abs(guideline) <= LARGEST_KEY else None,
    }
    with connection.cursor() as cursor:
        cursor.execute(FACTS, asked)
        is_open, wanted, is_member, has_label, has_seen, is_contradicted, guidelines = (
            cursor.fetchone()
        )
    # Of a repeat that was skipped, the person may have seen the verdict.
    is_held = assignment.state == Assignment.State.LEASED
    may_revise = item.status == StudyItem.Status.OPEN and not has_seen
    return LabelState(
        may_label=bool(is_open and is_member),
        has_label=bool(has_label),
        has_room=is_held
        if assignment.is_repeat
        else may_revise and item.n_labels + _held_by_others(assignment) < wanted,
        may_revise=may_revise,
        labels_per_run=wanted,
        is_contradicted=bool(is_contradicted),
        guideline=guidelines,
    )


def _held_by_others(assignment: Assignment) -> int:
    """Assignments of the run that others hold and the person does not.

    None while the person's own lease runs: it was given because a label was wanted.
    """
    now = timezone.now()
    leased = Assignment.State.LEASED
    if assignment.state == leased and assignment.leased_until > now:
        return 0
    held = Assignment.objects.filter(
        item=assignment.item_id, is_repeat=False, state=leased, leased_until__gt=now
    )
    return held.exclude(user=assignment.user_id).count()


def _own(*, assignment: int, user: int, study: int) -> QuerySet[Assignment]:
    return Assignment.objects.select_related("item__study").filter(
        pk=assignment,
        user=user,
        item__study__pk=study,
        item__study__members__user=user,
        item__study__members__left_at=None,
        item__study__members__part=StudyMember.Part.ANNOTATOR,
    )


def own_assignment(*, assignment: int, user: int, study: int) -> Assignment | None:
    """The assignment with its run and study, if it is the person's and they annotate there."""
    return _own(assignment=assignment, user=user, study=study).first()


@contextmanager
def held_assignment(*, assignment: int, user: int, study: int) -> Iterator[Assignment | None]:
    """The same inside a transaction in which nobody else changes the assignment or its run.

    One whose time ran out is held together with its study: the run may be assigned to somebody else
    at this moment. That is another transaction than the one it was first looked for in, which may
    hold what it waited for; the study is locked before the run.
    """
    own = _own(assignment=assignment, user=user, study=study)
    locked = own.select_for_update(of=("item", "self"), no_key=True)
    with transaction.atomic():
        if held := locked.filter(leased_until__gt=timezone.now()).first():
            yield held
            return
    with transaction.atomic():
        if own.exists():
            lock_study(study)
            held = locked.first()
        yield held


@transaction.atomic
def save_draft(
    *, assignment: Assignment, user: User, draft: dict[str, Any] | None, seconds: float | None
) -> datetime:
    """Keep what has been filled in so far, and the assignment; returns when.

    Args:
        draft: None for a mere sign of life, which leaves the draft as it is.
        seconds: active time since the last save, as the page measured it.
    """
    now = timezone.now()
    current = Assignment.objects.select_for_update().get(pk=assignment.pk, user=user)
    if current.state != Assignment.State.SKIPPED:
        add_active_time(current, seconds, now)
        current.draft = current.draft if draft is None else draft
        current.draft_saved_at = now
        is_held = current.state == Assignment.State.LEASED and current.leased_until > now
        if is_held:  # an expired one may have gone to somebody else
            current.leased_until = now + lease_length()
        current.save()
    return now


def drop_draft(assignment: Assignment) -> None:
    """Give up what was filled in to change the label; another draft stays."""
    changes = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.SUBMITTED)
    changes.update(draft={})


def add_active_time(assignment: Assignment, seconds: float | None, now: datetime) -> None:
    """Add the page's measure of active time, never more than the clock says has passed.

    Without a measure (no script) the clock's own span counts.
    """
    since = max(filter(None, (assignment.opened_at, assignment.draft_saved_at)))
    passed = max(0.0, (now - since).total_seconds())
    assignment.seconds += passed if seconds is None else min(max(0.0, seconds), passed)


def own_comments(assignment: Assignment) -> QuerySet[StepComment]:
    """The person's remarks on the run; in a hidden repeat only those made in it."""
    return StepComment.objects.filter(
        item=assignment.item_id, author=assignment.user_id, is_repeat=assignment.is_repeat
    )
