"""What may break, and what is promised then: the list that tests and the operators' page share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


@dataclass(frozen=True, slots=True)
class Failure:
    """One kind of failure and what holds after it."""

    number: int
    name: _StrPromise
    promise: _StrPromise


FAILURES = (
    Failure(
        1,
        _("A worker, or any other process of the site, dies at any moment"),
        _(
            "The next attempt starts within a lease and 30 seconds, and so does what is queued;"
            " finished steps are kept."
        ),
    ),
    Failure(
        2,
        _("The broker dies or forgets its messages"),
        _("No run is lost; requests are accepted meanwhile; work goes on within 90 seconds."),
    ),
    Failure(
        3,
        _("The database restarts, or the web process is killed while it writes"),
        _("What was answered with success is stored; else the answer is 503, never 500."),
    ),
    Failure(
        4,
        _("Messages are delivered many times"),
        _("A run is carried out once and a model is paid once."),
    ),
    Failure(
        5,
        _("A worker is frozen past its lease, for good or until it wakes up"),
        _("It can write nothing: another has its work. It is replaced, and reported until then."),
    ),
    Failure(
        6,
        _("A process dies between storing work and telling a worker"),
        _("No worker sees what is not stored; what was stored is found by the sweep."),
    ),
    Failure(
        7,
        _("A browser crashes, hangs or is left behind"),
        _("It is an error of the infrastructure, not of the agent; no process stays."),
    ),
    Failure(
        8,
        _("A model's provider fails or answers nonsense"),
        _("It is an error of the evaluator and never a verdict; every paid call is counted."),
    ),
    Failure(
        9,
        _("The disk is full"),
        _("An import is stored whole or not at all, and says why."),
    ),
    Failure(
        10,
        _("An upload is cut or stalls"),
        _("Nothing of it is stored, and its place is free again within 60 seconds."),
    ),
    Failure(
        11,
        _("Many people submit at once, or one clicks twice"),
        _("Every pair closes exactly once; one label for a person and a run."),
    ),
    Failure(
        12,
        _("Two adjudicators decide at once"),
        _("The first wins; the second is shown both texts."),
    ),
    Failure(
        13,
        _("A session ends while somebody writes"),
        _("The draft is kept, and no log-in form is put into the middle of a page."),
    ),
    Failure(
        14,
        _("Clocks are wrong"),
        _("Leases follow the clock of the database, durations a clock that never steps."),
    ),
    Failure(
        15,
        _("The database is migrated while people work"),
        _("The old code works on the new tables, and no lock lasts longer than 2 seconds."),
    ),
    Failure(
        16,
        _("A run is very large"),
        _("It is imported within bounds of memory and time."),
    ),
    Failure(
        17,
        _("Processes are replaced, storage is slow or gone, the broker is full"),
        _("Work is finished or handed back; errors are clear."),
    ),
)
