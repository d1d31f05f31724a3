"""A hole that was there once: the label that completes a run could be undone."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, ReferenceVerdict, StudyItem
from judging.models.labels import UNDO_S
from judging.studies.labels.services import LabelClosedError
from runs.models import User


@transaction.atomic
def undo_at_any_time(*, label: Label, user: User) -> Assignment:
    """Take the label back within ten seconds, and what it brought about with it."""
    if timezone.now() - label.submitted_at > timedelta(seconds=UNDO_S):
        raise LabelClosedError
    item = label.item
    ReferenceVerdict.objects.filter(item=item).delete()
    Dispute.objects.filter(item=item).delete()
    StudyItem.objects.filter(pk=item.pk).update(status="open", n_labels=item.n_labels - 1)
    Assignment.objects.filter(item=item, user=user).update(state=Assignment.State.LEASED)
    Label.objects.filter(pk=label.pk).delete()
    return Assignment.objects.get(item=item, user=user, is_repeat=label.is_repeat)
