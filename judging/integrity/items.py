"""How far a study's run has come: state and counter against labels, dispute and verdict."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Exists, F, OuterRef, Q

from judging.models import Dispute, Label, ReferenceVerdict, StudyItem
from judging.studies.imported import IMPORTED
from runs.operations.integrity.contract import Invariant, number_of

Status = StudyItem.Status
HAS_VERDICT = Q(Exists(ReferenceVerdict.objects.filter(item=OuterRef("pk"))))
HAS_DISPUTE = Q(Exists(Dispute.objects.filter(item=OuterRef("pk"))))


def items() -> Iterator[Invariant]:
    """What holds of a run in a study. That it is in each once, the database itself keeps."""
    yield _never(~Q(status__in=Status.values), "state {status} is none", "status")
    first_looks = Label.objects.independent()
    yield Invariant(
        lambda: StudyItem.objects.annotate(rows=number_of(first_looks, "item")).exclude(
            rows=F("n_labels")
        ),
        "n_labels is {n_labels}, and it has {rows}",
        ("n_labels", "rows"),
    )
    yield _never(
        Q(n_labels__gt=F("study__labels_per_run")),
        "it has {n_labels} labels of {study__labels_per_run}",
        "n_labels",
        "study__labels_per_run",
    )
    # A file may hold verdicts without labels, and labels without verdicts.
    complete = Q(n_labels__gte=F("study__labels_per_run"))
    ours = ~Q(study__run_filter__has_key=IMPORTED)
    yield _never(
        ours & complete & Q(status=Status.OPEN), "all its labels are there, and it is open"
    )
    yield _never(
        ours & ~complete & ~Q(status=Status.OPEN),
        "it is {status} before all labels are there",
        "status",
    )
    yield _never(Q(status=Status.SETTLED) & ~HAS_VERDICT, "it is settled without a verdict")
    yield _never(
        ~Q(status=Status.SETTLED) & HAS_VERDICT, "it is {status} and has a verdict", "status"
    )
    yield _never(Q(status=Status.DISPUTED) & ~HAS_DISPUTE, "it is disputed without a dispute")
    yield _never(Q(status=Status.OPEN) & HAS_DISPUTE, "it is open and has a dispute")


def _never(condition: Q, why: str, *told: str) -> Invariant:
    return Invariant(lambda: StudyItem.objects.filter(condition), why, told)
