"""What the page around the triangle offers: the filters that hold, and those there could be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.cells import Shown
from judging.analysis.audits.joint import GROUPINGS
from judging.analysis.audits.population import counted_items
from judging.analysis.audits.selection import ANY, PEOPLE, Selection
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources
from judging.models import Study

GROUP_NAMES = {
    "site": gettext_lazy("site"),
    "template": gettext_lazy("template"),
    "kind": gettext_lazy("kind of evaluation"),
}
SPREADS = {
    ANY: gettext_lazy("any verdict differs"),
    PEOPLE: gettext_lazy("annotators differ"),
}
_OFFERED: dict[str, str | Promise] = {
    "fn-fp": gettext_lazy("wrong: FN or FP"),
    "fn": "FN",
    "fp": "FP",
    "tp": "TP",
    "tn": "TN",
    "none": gettext_lazy("no verdict"),
}
MOST_GROUPS = 300


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that holds: in words, and the query without it."""

    words: str
    query: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that can be chosen."""

    value: str
    words: str
    is_chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The line above the triangle."""

    chips: Sequence[Chip]
    kept: Sequence[str]
    """Cells that hold, to be sent along when one more is chosen."""
    cells: Sequence[tuple[str, Sequence[Choice]]]
    """By source."""
    spreads: Sequence[Choice]
    groups: Sequence[tuple[str, str | Promise, Sequence[Choice]]]
    evaluators: Sequence[Choice]


def filters_of(study: Study, sources: VerdictSources, selection: Selection) -> Filters:
    """The filters of a selection, in one query."""
    return Filters(
        chips=_chips(selection),
        kept=[each.address for each in selection.cells],
        cells=[(source.name, _cells(source)) for source in sources.columns(sources.evaluators)],
        spreads=[Choice(key, str(name), selection.spread == key) for key, name in SPREADS.items()],
        groups=_groups(study, selection),
        evaluators=[
            Choice(
                source.key, source.name, not selection.evaluators or source in selection.evaluators
            )
            for source in sources.evaluators
        ],
    )


def _cells(source: VerdictSource) -> list[Choice]:
    return [Choice(f"{source.key}_{cells}", str(name)) for cells, name in _OFFERED.items()]


def _chips(selection: Selection) -> list[Chip]:
    chips = [
        Chip(f"{each.source.name}: {_cell_words(each.cells)}", selection.without(each).query)
        for each in selection.cells
    ]
    if selection.differ:
        first, second = selection.differ
        words = _("%(first)s and %(second)s differ") % {"first": first.name, "second": second.name}
        chips.append(Chip(words, selection.without("differ").query))
    if selection.spread:
        chips.append(Chip(str(SPREADS[selection.spread]), selection.without("differ").query))
    chips += [
        Chip(f"{GROUP_NAMES[name]}: {value}", selection.without(name).query)
        for name, value in selection.groups.items()
    ]
    return chips


def _cell_words(cells: Sequence[Shown]) -> str:
    return ", ".join(_("no verdict") if cell is Shown.NONE else cell.upper() for cell in cells)


def _groups(
    study: Study, selection: Selection
) -> list[tuple[str, str | Promise, Sequence[Choice]]]:
    """The values that occur, of each grouping with more than one; the most frequent first."""
    counts: dict[str, dict[str, int]] = {name: {} for name in GROUPINGS}
    rows = counted_items(study).annotate(
        **{f"of_{name}": expression for name, expression in GROUPINGS.items()}
    )
    names = [f"of_{name}" for name in GROUPINGS]
    for *values, n in rows.order_by().values_list(*names).annotate(n=Count("*")):
        for name, value in zip(GROUPINGS, values, strict=True):
            counts[name][value] = counts[name].get(value, 0) + n
    found: list[tuple[str, str | Promise, Sequence[Choice]]] = []
    for name, by_value in counts.items():
        chosen = selection.groups.get(name, "")
        often = sorted(by_value, key=lambda value: -by_value[value])[:MOST_GROUPS]
        choices = [
            Choice(value, f"{value[:80]} ({by_value[value]})", value == chosen)
            for value in often
            if value
        ]
        if len(choices) > 1 or chosen:
            found.append((name, GROUP_NAMES[name], choices))
    return found
