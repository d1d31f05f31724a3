"""The list of studies that can be audited."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from judging.audits.access import studies_hidden_from
from judging.audits.population import FAILURE, INFEASIBLE, SUCCESS
from judging.models import Study, StudyItem
from runs.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStudy:
    """A study and how far its judgement has come; no figure of it while it is hidden."""

    study: Study
    is_hidden: bool
    runs: int
    counted: int
    disputed: int


def listed_studies(user: User) -> list[ListedStudy]:
    """All studies, the newest first, in two queries."""
    hidden = set(studies_hidden_from(user).values_list("pk", flat=True))
    counted = Q(items__verdict__verdict__in=[SUCCESS, FAILURE]) & ~Q(items__run__in=INFEASIBLE)
    studies = Study.objects.annotate(
        runs=Count("items"),
        counted=Count("items", filter=counted),
        disputed=Count("items", filter=Q(items__status=StudyItem.Status.DISPUTED)),
    )
    return [
        ListedStudy(
            study=study,
            is_hidden=study.pk in hidden,
            runs=study.runs,
            counted=0 if study.pk in hidden else study.counted,
            disputed=0 if study.pk in hidden else study.disputed,
        )
        for study in studies.order_by("-created_at")
    ]
