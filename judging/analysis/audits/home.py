"""The list of studies that can be audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from judging.analysis.audits.population import FAILURE, INFEASIBLE, SUCCESS
from judging.models import Study, StudyItem
from judging.studies.access import studies_hidden_from
from runs.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStudy:
    """A study and how far its judgement has come; no figure of it while it is hidden."""

    study: Study
    is_hidden: bool
    runs: int
    counted: int
    disputed: int


def listed_studies(user: User, studies: Sequence[Study]) -> list[ListedStudy]:
    """The rows of these studies, in two queries."""
    keys = [study.pk for study in studies]
    hidden = set(studies_hidden_from(user).filter(pk__in=keys).values_list("pk", flat=True))
    counted = Q(verdict__verdict__in=[SUCCESS, FAILURE]) & ~INFEASIBLE
    items = StudyItem.objects.filter(study__in=keys).order_by()
    rows = {
        key: (runs, n_counted, n_disputed)
        for key, runs, n_counted, n_disputed in items.values_list("study").annotate(
            runs=Count("pk"),
            counted=Count("pk", filter=counted),
            disputed=Count("pk", filter=Q(status=StudyItem.Status.DISPUTED)),
        )
    }
    found = []
    for study in studies:
        is_hidden = study.pk in hidden
        runs, n_counted, n_disputed = rows.get(study.pk, (0, 0, 0))
        found.append(
            ListedStudy(
                study=study,
                is_hidden=is_hidden,
                runs=runs,
                counted=0 if is_hidden else n_counted,
                disputed=0 if is_hidden else n_disputed,
            )
        )
    return found
