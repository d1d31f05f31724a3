"""What figures of progress mean, each in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from judging.analysis.progress.figures import AtLimit, Progressed
from judging.analysis.wording import DASH, figure_words, points_words, why_undefined
from judging.statistics.figures import Figure, Undefined
from judging.statistics.progress import AdjustedScore, AtStep


def of_progress(found: Progressed) -> str:
    """What the runs reached beside what they achieved."""
    hidden = found.hidden.value
    if isinstance(hidden, Undefined):
        return _("No run has both a progress rate and a verdict.")
    words = {
        "success": _share(found.success.value),
        "progress": _share(found.reached.value),
        "hidden": points_words(abs(hidden)).lstrip("+"),
    }
    if hidden >= 0:
        said = (
            _(
                "%(success)s of the runs succeeded, and the average run got %(progress)s of the "
                "way: %(hidden)s points that a verdict of yes or no does not show."
            )
            % words
        )
    else:
        said = (
            _(
                "%(success)s of the runs succeeded, and the average run got %(progress)s of the "
                "way: %(hidden)s points less, so some runs succeed without reaching their "
                "milestones, and either the verdicts or the milestones deserve a look."
            )
            % words
        )
    if isinstance(found.failures.value, Undefined):
        return f"{said} {_('None of them failed.')}"
    return f"{said} " + _("Those that failed had got %(progress)s of the way.") % {
        "progress": _share(found.failures.value)
    }


def of_parts(parts: Sequence[tuple[str, Progressed]]) -> str:
    """How far runs got in each part, and how many succeeded there."""
    known = [(name, found) for name, found in parts if found.n]
    if not known:
        return _("No run has both a progress rate and a verdict.")
    return " ".join(
        _("%(part)s: %(progress)s of the way, %(success)s succeeded.")
        % {
            "part": name or DASH,
            "progress": _share(found.reached.value),
            "success": _share(found.success.value),
        }
        for name, found in known
    )


def of_curve(curve: Sequence[AtStep]) -> str:
    """Where runs stop getting further."""
    highest = curve[-1].reached
    if not highest:
        return _("No run reached any milestone.")
    half = next(point.step for point in curve if 2 * point.reached >= highest - 1e-9)
    full = next(point.step for point in curve if point.reached >= highest - 1e-9)
    said = _(
        "Half of all progress is made by step %(half)s; after step %(full)s, no run gets further."
    ) % {"half": half, "full": full}
    lost = highest - curve[-1].held
    if lost <= 1e-9:
        return said
    return f"{said} " + _("%(points)s points of it were lost again by the end.") % {
        "points": points_words(lost).lstrip("+")
    }


def of_limits(found: Sequence[AtLimit]) -> str:
    """What more steps bring."""
    first, last = found[0], found[-1]
    if not first.success.total:
        return _("No run has both a progress rate and a verdict.")
    if not first.cut:
        return _("No run took more than %(limit)s steps, so no limit here makes a difference.") % {
            "limit": first.limit
        }
    return _(
        "Stopped after %(few)s steps, the runs would have got %(less)s of the way; with "
        "%(many)s, %(more)s."
    ) % {
        "few": first.limit,
        "less": _share(first.reached.value),
        "many": last.limit,
        "more": _share(last.reached.value),
    }


def of_score(found: AdjustedScore) -> str:
    """How the score comes about."""
    if isinstance(found.value, Undefined):
        return _("There is no score: %(reason)s.") % {"reason": why_undefined(found.value)}
    progress = found.failure_progress
    words = {
        "alpha": f"{found.alpha:g}",
        "passed": _share(found.pass_at_k.value),
        "rest": f"{round(1 - found.alpha, 6):g}",
        "progress": "100 %" if isinstance(progress, Undefined) else _share(progress),
        "score": _share(found.value),
    }
    said = _("%(alpha)s × %(passed)s + %(rest)s × %(progress)s = %(score)s.") % words
    if isinstance(progress, Undefined):
        return f"{said} {_('Nothing failed, so nothing is missing from the second part.')}"
    return said


def _share(value: Figure) -> str:
    return figure_words(value, is_share=True)
