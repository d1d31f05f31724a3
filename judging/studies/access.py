"""Who may read the audit of a study, and the record of who viewed blinded data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render

from judging.models import Study, StudyItem, Unblinding
from judging.studies.audit_kinds import UNBLINDED
from runs.accounts.audit_log import record_entry
from runs.interface.fragments import AppRequest
from runs.models import User
from runs.models.visibility import run_policy

AUDIT = "judging.view_audit"
EVALUATE = "judging.add_evaluation"

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


def studies_hidden_from(user: User) -> QuerySet[Study]:
    """Studies that hold a run to which the person is still blinded, in this study or another.

    Figures over the other runs would tell something of that one, so there are none at all.
    """
    blind = run_policy().blind_runs(user)
    if blind is None:
        return Study.objects.none()
    items = StudyItem.objects.filter(study=OuterRef("pk"), run__in=blind.values("pk"))
    return Study.objects.filter(Exists(items))


def for_auditors(view: Callable[Concatenate[AppRequest, Study, P], HttpResponseBase]) -> View:
    """Admits who may read audits and is blinded to no run of the study."""

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        if not request.user.has_perm(AUDIT):
            raise PermissionDenied
        study = get_object_or_404(Study, pk=study_id)
        if studies_hidden_from(request.user).filter(pk=study_id).exists():
            return render(
                request, "judging/studies/audit_refused.html", {"study": study}, status=403
            )
        return view(request, study, *args, **kwargs)

    return guarded


CHUNK = 500
"""Databases take no more than so many values at a time."""


@transaction.atomic
def record_unblinding(*, user: User, item: StudyItem, reason: str) -> None:
    """Note that the person sees the item's labels or verdicts, once per person and item.

    Afterwards the run is never handed to them for labelling again, in any study.
    """
    _, is_new = Unblinding.objects.get_or_create(
        user=user, item=item, defaults={"study_id": item.study_id, "reason": reason}
    )
    if is_new:
        record_entry(UNBLINDED, about=("run", item.run_id), words=reason, user=user)


def record_unblindings(*, user: User, items: Iterable[StudyItem], reason: str) -> None:
    """The same for a list of runs, in two queries for every `CHUNK` of them.

    The audit log holds how many runs of a study they were; the rows, which ones.
    """
    seen = list({item.pk: item for item in items}.values())
    new: list[StudyItem] = []
    for start in range(0, len(seen), CHUNK):
        chunk = seen[start : start + CHUNK]
        rows = Unblinding.objects.filter(user=user, item__in=chunk)
        known = set(rows.values_list("item", flat=True))
        new += [item for item in chunk if item.pk not in known]
    if new:
        _record_new(user, new, reason)


@transaction.atomic
def _record_new(user: User, items: Sequence[StudyItem], reason: str) -> None:
    Unblinding.objects.bulk_create(
        (Unblinding(user=user, item=item, study_id=item.study_id, reason=reason) for item in items),
        batch_size=CHUNK,
        ignore_conflicts=True,
    )
    for study, n in sorted(Counter(item.study_id for item in items).items()):
        record_entry(UNBLINDED, about=("study", study), words=reason, after=f"{n} runs", user=user)


def record_closing(*, study: Study) -> None:
    """Note that closing the study opened its unsettled runs to all its members."""
    open_to = study.members.values_list("user", flat=True)
    Unblinding.objects.bulk_create(
        Unblinding(study=study, user_id=user, reason="study closed") for user in open_to
    )
