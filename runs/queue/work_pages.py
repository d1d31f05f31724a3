"""What pages show of leased work: how far it is, how fast, and what it has cost."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from runs.models import LeasedWork, PaidWork
from runs.templatetags.interface import money

State = LeasedWork.State


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkProgress:
    """What follows from the columns of a piece of work. Lengths are in seconds, None is unknown."""

    status: str
    """The class of its state on pages."""
    elapsed: float | None
    left: float | None
    rate: float | None
    """Items a minute, since it was last taken up."""
    n_left: int | None
    needs_budget: bool
    """Whether it goes on only with a higher limit of costs."""


def progress_of(work: LeasedWork) -> WorkProgress:
    """How far the work is."""
    rate = _rate(work)
    n_left = None if work.n_total is None else max(0, work.n_total - work.n_done)
    elapsed = None
    if work.started_at is not None:
        elapsed = ((work.ended_at or timezone.now()) - work.started_at).total_seconds()
    out_of_budget = work.state == State.STOPPED_BY_BUDGET
    return WorkProgress(
        status=State.CANCELLED.value if out_of_budget else work.state,
        elapsed=elapsed,
        left=n_left / rate if rate and n_left is not None else None,
        rate=rate * 60 if rate else None,
        n_left=n_left,
        needs_budget=out_of_budget,
    )


def cost_in_words(work: PaidWork) -> str:
    """What the work has cost so far."""
    if not work.n_unpriced:
        return _("%(cost)s spent") % {"cost": money(work.spent)}
    unpriced = ngettext(
        "%(n)s reply of unknown price", "%(n)s replies of unknown price", work.n_unpriced
    ) % {"n": intcomma(work.n_unpriced)}
    if not work.spent:
        return unpriced
    return _("%(cost)s spent, and %(unpriced)s") % {"cost": money(work.spent), "unpriced": unpriced}


def _rate(work: LeasedWork) -> float | None:
    """Items a second since it was last taken up; None while that is not known."""
    done = work.n_done - work.n_done_at_claim
    if work.state != State.RUNNING or work.claimed_at is None or done <= 0:
        return None
    seconds = (timezone.now() - work.claimed_at).total_seconds()
    return done / seconds if seconds > 0 else None
