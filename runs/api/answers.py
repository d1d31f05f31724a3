"""Kept answers of the API that are old enough to be forgotten."""

from __future__ import annotations

from django.utils import timezone

from runs.models import ApiAnswer
from runs.models.api import ANSWERS_KEPT

AT_A_TIME = 1000


def forget_old_answers() -> int:
    """Delete answers older than they are promised to be kept, so many at a time; how many."""
    old = ApiAnswer.objects.filter(created_at__lt=timezone.now() - ANSWERS_KEPT)
    n, _ = ApiAnswer.objects.filter(
        pk__in=list(old.values_list("pk", flat=True)[:AT_A_TIME])
    ).delete()
    return n
