"""What keeps a run from being archived and deleted.

The app above adds its reasons (`runs.extension`). A run is told under the first reason that holds
of it, those of studies before all others: a run to which anybody is blinded is kept by a study, and
nothing else is told of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from runs.models import Hint, KnowledgeSource, Run, RunStatus
from runs.models.hooks import Hook


@dataclass(frozen=True, slots=True)
class Reason:
    """Why runs are kept: of which it holds, and how that is said."""

    words: str | Promise
    holds: Q


reasons_hook: Hook[Callable[[], Sequence[Reason]]] = Hook("why runs of studies are kept")


def _reasons_of_runs() -> list[Reason]:
    repeats = Run.objects.filter(archived_at=None)
    repeated = Q(Exists(repeats.filter(rerun_of=OuterRef("pk")))) | Q(
        Exists(repeats.filter(retry_of=OuterRef("pk")))
    )
    learnt = Q(Exists(Hint.objects.filter(source=OuterRef("pk")))) | Q(
        Exists(KnowledgeSource.objects.filter(run=OuterRef("pk")))
    )
    return [
        Reason(_("not ended yet"), Q(status__in=RunStatus.active())),
        Reason(_("another run repeats it"), repeated),
        Reason(_("hints or web knowledge were made from it"), learnt),
    ]


def reasons() -> list[Reason]:
    """Every reason, in the order in which they are told."""
    return [*reasons_hook.get()(), *_reasons_of_runs()]


def unkept(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Those that nothing keeps."""
    for reason in reasons():
        runs = runs.exclude(reason.holds)
    return runs


def kept_by(runs: QuerySet[Run]) -> list[tuple[str | Promise, int]]:
    """How many of the runs each reason keeps; every run under its first one."""
    told = []
    for reason in reasons():
        if n := runs.filter(reason.holds).count():
            told.append((reason.words, n))
        runs = runs.exclude(reason.holds)
    return told
