"""Failure modes as a report: how many of each agent's failures show each, by each source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.failure_modes.shares import ModeFigures, Reviewed
from judging.analysis.failure_modes.sources import NONE, UNKNOWN, ModeSource, side_key
from judging.analysis.failure_modes.words import mode_words
from judging.analysis.reports.columns import in_files, share, text
from judging.analysis.reports.report import Cell, Layout, Report
from judging.analysis.reports.showing import Shown, percent, percent_ends
from judging.statistics.figures import Share
from webagent.recovery.failure_kinds import Mode, Side

Link = Callable[[int, str, ModeSource], str]
"""Where the runs of a configuration that show a mode are listed, by a source."""
FiguresBy = Callable[[ModeSource], Sequence[tuple[int, str, ModeFigures]]]
"""The configurations with id, name and their failures by a source."""
NOTE = _(
    "A failure may show several modes, so shares do not add up to 100 %. What the environment "
    "spoiled is left out of n, but in its own row, which is of all failures and errors."
)
_COLUMNS = (
    text("configuration", _("configuration")),
    in_files("by", _("source")),
    text("mode", _("failure mode"), show=lambda key: Shown(mode_words(key))),
    share(
        _("share"),
        keys=("runs", "n", "value", "low", "high"),
        names=(
            _("runs"),
            _("n, failures told of"),
            _("share"),
            _("lower end, 95 %, Wilson"),
            _("upper end, 95 %, Wilson"),
        ),
    ),
    in_files("failures", _("failures")),
    in_files("not_told", _("not looked at yet")),
)


def modes_report(
    figures_by: FiguresBy, reviewed: Reviewed, chosen: ModeSource, link: Link
) -> Report:
    """One row a source, configuration and failure mode; a page shows the rows of one source."""
    return Report(
        columns=_COLUMNS,
        rows=[
            [name, by.value, mode, found_share, found.failures, found.unknown]
            for by in ModeSource
            for _pk, name, found in figures_by(by)
            for mode, found_share in _shares(found)
        ],
        page_rows=[
            row
            for pk, name, found in figures_by(chosen)
            for row in _page_rows(pk, name, found, chosen, link)
        ],
        notes=[str(NOTE)],
        remarks=[
            _(
                "A failure may show several modes, so shares do not add up to 100 %. Fixed rules "
                "find repetition, early stops, invalid actions, limits and the environment; plan "
                "errors, misread observations and the sides take the failure judge or a person. "
                "Intervals are Wilson's, 95 %."
            ),
            *_confirmed(reviewed.confirmed),
        ],
        layout=Layout(
            pivot="configuration", caption=_("Share of the agent's failures that show each mode")
        ),
    )


def _shares(found: ModeFigures) -> list[tuple[str, Share]]:
    """Every mode, failures without any, and either side of errors."""
    return [
        *((mode.value, found.share(mode)) for mode in Mode),
        (NONE, found.without_mode),
        *((side_key(side), found.side_share(side)) for side in Side),
    ]


def _page_rows(
    pk: int, name: str, found: ModeFigures, by: ModeSource, link: Link
) -> list[Sequence[object]]:
    """The same with their runs, the runs that nobody examined, and sides where they are known."""
    figures: list[tuple[str, Share | int, bool]] = [
        (mode, each, bool(each.count))
        for mode, each in _shares(found)
        if each.total or not mode.startswith("side_")
    ]
    figures.append((UNKNOWN, found.unknown, True))
    notes = {
        Mode.ENVIRONMENT.value: gettext("not the agent's; of all failures and errors"),
        UNKNOWN: gettext("left out of every share"),
    }
    return [
        [
            name,
            by.value,
            Cell(mode, note=notes.get(mode, "")),
            Cell(value, link(pk, mode, by) if has_runs else ""),
            None,
            None,
        ]
        for mode, value, has_runs in figures
    ]


def _confirmed(share: Share) -> list[str]:
    if not share.total:
        return []
    return [
        gettext(
            "People confirmed %(share)s of the proposals that they looked at (%(n)s/%(total)s, "
            "%(ends)s)."
        )
        % {
            "share": percent(share.value),
            "n": share.count,
            "total": share.total,
            "ends": percent_ends(share.interval),
        }
    ]
