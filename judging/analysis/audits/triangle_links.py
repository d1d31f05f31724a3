"""Numbers of comparisons with the runs behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from judging.analysis.audits.cells import Shown
from judging.analysis.audits.selection import InCells, Selection
from judging.analysis.audits.verdict_sources import VerdictSource
from judging.models import Study


@dataclass(frozen=True, slots=True)
class Linked:
    """A number of runs, and where they are listed; no address where that cannot be."""

    n: int
    url: str = ""


def in_cells(
    study: Study,
    n: int,
    cells: Sequence[tuple[VerdictSource, Sequence[Shown]]],
    groups: Mapping[str, str] | None = None,
) -> Linked:
    """So many runs that are in all of these cells, and in these groups."""
    if groups and not all(groups.values()):
        return Linked(n)
    selection = Selection(
        cells=[InCells(source, list(which)) for source, which in cells], groups=groups or {}
    )
    return Linked(n, _address(study, selection))


def differing(study: Study, n: int, first: VerdictSource, second: VerdictSource) -> Linked:
    """So many runs on which the two differ."""
    return Linked(n, _address(study, Selection(differ=(first, second))))


def _address(study: Study, selection: Selection) -> str:
    return f"{reverse('judging:audit_triangle', args=[study.pk])}?{selection.query}"
