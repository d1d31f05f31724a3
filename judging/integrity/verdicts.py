"""Reference verdicts against the labels and the dispute that they came from."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import CharField, Exists, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce

from judging.models import Dispute, DisputeMessage, Label, ReferenceVerdict
from judging.studies.verdicts.settlement import CLEAR
from runs.operations.integrity.contract import Invariant

Origin = ReferenceVerdict.Origin
DISPUTED_ENDS = (Origin.CONSENSUS, Origin.ADJUDICATED)


def verdicts() -> Iterator[Invariant]:
    """What holds of a reference verdict.

    That a run has one at most in a study, and one authoritative one at most in all, the database
    itself keeps.
    """
    rows = ReferenceVerdict.objects
    yield _never(~Q(verdict__in=ReferenceVerdict.Verdict.values), "{verdict} is no verdict")
    yield _never(~Q(origin__in=Origin.values), "origin {origin} is none")
    yield _never(~Q(run=F("item__run")), "it is of another run than its place in the study")
    # None where an older version, at work during an upgrade, stored it: lists know of that.
    dated = Q(run_created_at__isnull=False)
    other = dated & ~Q(run_created_at=F("run__created_at"))
    yield _never(other, "it is not dated as its run is: `migrate` does that anew")
    # What came with a file stands as it was decided elsewhere.
    decided = Q(record={})
    yield _never(decided & Q(origin=Origin.IMPORTED), "it is imported, and nothing says from what")
    agreed = decided & Q(origin=Origin.AGREED)
    labels = Label.objects.independent().filter(item=OuterRef("item"))
    differing = Q(Exists(labels.exclude(success=OuterRef("verdict"))))
    yield _never(agreed & differing, "all are said to agree on {verdict}, and a label differs")
    yield _never(
        agreed & ~Q(verdict__in=CLEAR), "{verdict} cannot stand without a decision upon it"
    )
    dispute = Dispute.objects.filter(item=OuterRef("item"))
    yield _never(agreed & Q(Exists(dispute)), "all are said to agree, and there is a dispute")
    ended = decided & Q(origin__in=DISPUTED_ENDS)
    yield _never(
        ended & ~Q(Exists(dispute.filter(version__gt=0))), "{origin} without a dispute that ended"
    )
    yield _never(ended & Q(decided_by=None), "{origin}, and nobody noted by whom")
    last = DisputeMessage.objects.filter(
        dispute__item=OuterRef("item"), author=OuterRef("annotator")
    ).exclude(proposal="")
    proposed = Coalesce(
        Subquery(last.order_by("-created_at", "-id").values("proposal")[:1]),
        Value(""),
        output_field=CharField(),
    )
    apart = labels.annotate(proposed=proposed).exclude(proposed=OuterRef("verdict"))
    yield Invariant(
        lambda: rows.filter(decided, origin=Origin.CONSENSUS).filter(Exists(apart)),
        "consensus on {verdict}, which is not everybody's last proposal",
        ("verdict",),
    )


def _never(condition: Q, why: str) -> Invariant:
    return Invariant(lambda: ReferenceVerdict.objects.filter(condition), why, ("verdict", "origin"))
