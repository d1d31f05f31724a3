"""Which evaluators stand beside each other as judges of success, and in which order."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from judging.models import EvaluatorVersion

_KINDS = {
    kind.value: place
    for place, kind in enumerate(
        (
            EvaluatorVersion.Kind.MATCHER,
            EvaluatorVersion.Kind.JUDGE,
            EvaluatorVersion.Kind.REWARD,
            EvaluatorVersion.Kind.PIPELINE,
            EvaluatorVersion.Kind.MILESTONES,
        )
    )
}


def of_success() -> QuerySet[EvaluatorVersion]:
    """Those that say whether runs succeed; the others say how runs fail."""
    return EvaluatorVersion.objects.exclude(kind=EvaluatorVersion.Kind.MODES)


def in_order(versions: Iterable[EvaluatorVersion]) -> list[EvaluatorVersion]:
    """From the simple to what is made of it, before the repair and then after it; others last."""
    return sorted(
        versions,
        key=lambda version: (
            _KINDS.get(version.kind, len(_KINDS)),
            "repaired" in version.name,
            version.name == "after",
            version.name,
            version.version,
        ),
    )
