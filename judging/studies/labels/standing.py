"""What one person may do about one run of a study, asked about that run alone."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from judging.models import Assignment, Guideline, Label, StudyItem, StudyMember, Unblinding


@dataclass(frozen=True, slots=True)
class Standing:
    """How a person stands to a run at this moment.

    Attributes:
        may_label: the study is open, and the person an annotator of it.
        has_label: the person has labelled the run (in the same look, the first or the second).
        has_place: one is left for the person's label; of a hidden repeat, it is in their hands.
        may_revise: labels of the run are still awaited, and the person knows of no others.
        labels_per_run: as many as the study wants.
        is_contradicted: another label of the run, no second look, says something else.
        guideline: the guidelines that the person was shown, or the newest of the study.
    """

    may_label: bool
    has_label: bool
    has_place: bool
    may_revise: bool
    labels_per_run: int
    is_contradicted: bool
    guideline: int | None


def standing_of(
    assignment: Assignment, item: StudyItem, *, success: str, guideline: int | None
) -> Standing:
    """How the assignment's person stands to its item, who says `success` of it.

    The caller holds the locks of both, and asks only now: what was read with the locks may be as
    old as the wait for them, apart from the two rows themselves. All of it is one question.

    Args:
        guideline: the guidelines that the person was shown, whatever was said of that.
    """
    person = assignment.user_id
    member = StudyMember.objects.filter(
        study=item.study_id, user=person, part=StudyMember.Part.ANNOTATOR, left_at=None
    )
    own = Label.objects.filter(item=item.pk, annotator=person, is_repeat=assignment.is_repeat)
    seen = Unblinding.objects.filter(user=person, item__run=item.run_id)
    own_closed = (
        Label.objects.independent()
        .filter(annotator=person, item__run=item.run_id)
        .exclude(item__status=StudyItem.Status.OPEN)
    )
    others = Label.objects.independent().filter(item=item.pk)
    guidelines = Guideline.objects.filter(study=item.study_id).order_by("-version").values("pk")
    shown = guidelines.filter(pk=guideline or 0)
    facts = (
        StudyItem.objects.filter(pk=item.pk)
        .annotate(
            member=Exists(member),
            own=Exists(own),
            seen=Q(Exists(seen)) | Q(Exists(own_closed)),
            contradicted=Exists(others.exclude(success=success)),
            guideline=Coalesce(Subquery(shown), Subquery(guidelines[:1])),
        )
        .order_by()
        .values_list(
            *("study__is_open", "study__labels_per_run", "member"),
            *("own", "seen", "contradicted", "guideline"),
        )
    )
    [(is_open, wanted, is_member, has_label, has_seen, is_contradicted, guidelines_pk)] = facts
    # Of a repeat that was skipped, the person may have seen the verdict.
    is_held = assignment.state == Assignment.State.LEASED
    may_revise = item.status == StudyItem.Status.OPEN and not has_seen
    return Standing(
        may_label=is_open and is_member,
        has_label=has_label,
        has_place=is_held
        if assignment.is_repeat
        else may_revise and item.n_labels + _held_by_others(assignment) < wanted,
        may_revise=may_revise,
        labels_per_run=wanted,
        is_contradicted=is_contradicted,
        guideline=guidelines_pk,
    )


def _held_by_others(assignment: Assignment) -> int:
    """Places of the run that others hold and the person does not.

    None while the person's own lease runs: it was given because a place was left.
    """
    now = timezone.now()
    leased = Assignment.State.LEASED
    if assignment.state == leased and assignment.leased_until > now:
        return 0
    held = Assignment.objects.filter(
        item=assignment.item_id, is_repeat=False, state=leased, leased_until__gt=now
    )
    return held.exclude(user=assignment.user_id).count()
