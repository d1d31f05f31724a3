"""The four heat maps of an experiment of hints, level by relatedness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.hint_effects.effects import Cell
from judging.analysis.hint_effects.reading import HintEffects
from judging.analysis.hint_effects.words import LEVELS, RELATEDNESSES, difference_words, ends_words
from judging.analysis.pictures_heat import HeatCell, HeatRow, heat_picture
from judging.statistics.comparison import Difference
from judging.statistics.figures import Undefined
from runs.launching.experiments.hint_plans import Condition
from webagent.knowledge.entries import Relatedness


@dataclass(frozen=True)
class HeatMap:
    """What a picture asks, what a cell says, and how to read it."""

    question: Promise
    note: Promise
    cell: Callable[[Cell], tuple[str, list[str], float | None]]


def _points(found: Difference, n: int) -> tuple[str, list[str], float | None]:
    heat = None if isinstance(found.value, Undefined) else found.value
    return difference_words(found), [ends_words(found), _n(n)], heat


def _mean(cell: Cell) -> tuple[str, list[str], float | None]:
    return _points(cell.difference, cell.n)


def _best(cell: Cell) -> tuple[str, list[str], float | None]:
    return _points(cell.best, cell.n)


def _improvements(cell: Cell) -> tuple[str, list[str], float | None]:
    return _counted("+", cell.improvements, cell.improved, cell)


def _deteriorations(cell: Cell) -> tuple[str, list[str], float | None]:
    words, notes, heat = _counted("−", cell.deteriorations, cell.worsened, cell)
    return words, notes, None if heat is None else -heat


def _counted(sign: str, n: int, tasks: int, cell: Cell) -> tuple[str, list[str], float | None]:
    if not cell.n:
        return "—", ["", _n(0)], None
    in_tasks = _("%(n)d of %(all)d tasks") % {"n": tasks, "all": cell.n}
    words = f"{sign}{n}" if n else "0"
    return (
        words,
        [in_tasks, _("%(n)d trials") % {"n": cell.n * cell.planned}],
        n / (cell.n * cell.planned),
    )


def _n(n: int) -> str:
    return _("n = %(n)d") % {"n": n}


MAPS: Mapping[str, HeatMap] = {
    "difference": HeatMap(
        gettext_lazy("Do hints raise the success rate?"),
        gettext_lazy(
            "Mean success rate with hints minus without, in percentage points; the interval "
            "of 95 in 100 is by task; n tasks."
        ),
        _mean,
    ),
    "best": HeatMap(
        gettext_lazy("And if the best trial counts?"),
        gettext_lazy(
            "A task succeeds here as soon as one of its trials does. Difference in percentage "
            "points; the interval of 95 in 100 is by task; n tasks."
        ),
        _best,
    ),
    "improvements": HeatMap(
        gettext_lazy("What did hints win?"),
        gettext_lazy(
            "Successes more than without hints, added up over the tasks that gained any; the "
            "number of those tasks."
        ),
        _improvements,
    ),
    "deteriorations": HeatMap(
        gettext_lazy("What did hints cost?"),
        gettext_lazy(
            "Successes fewer than without hints, added up over the tasks that lost any; the "
            "number of those tasks."
        ),
        _deteriorations,
    ),
}
"""By name in the address, in the page's order."""


def heat_map(effects: HintEffects, name: str) -> SafeString:
    """One picture.

    Raises:
        KeyError: there is none of that name.
    """
    chosen = MAPS[name]
    relatednesses = effects.relatednesses
    columns = [tuple(map(str, RELATEDNESSES[each])) for each in relatednesses]
    rows = [
        HeatRow(
            name=str(LEVELS[level]),
            cells=[_heat_cell(effects, chosen, Condition(level, each)) for each in relatednesses],
        )
        for level in effects.levels
    ]
    return heat_picture(
        [(first, second) for first, second in columns],
        rows,
        label=f"{chosen.question} {effects.source.name}",
        apart=int(Relatedness.SAME_TASK in relatednesses),
    )


def cell_url(effects: HintEffects, condition: Condition) -> str:
    """Where the tasks behind a cell are listed."""
    pk = effects.experiment.pk
    path = reverse("judging:hint_cell", args=[pk, condition.level, condition.relatedness])
    return f"{path}?{urlencode({'verdict': effects.source.key})}"


def _heat_cell(effects: HintEffects, chosen: HeatMap, condition: Condition) -> HeatCell | None:
    cell = effects.cells.get(condition)
    if cell is None:
        return None
    words, notes, heat = chosen.cell(cell)
    return HeatCell(
        words=words,
        notes=notes,
        heat=heat,
        url=cell_url(effects, condition),
        title=f"{condition}: {words} ({', '.join(note for note in notes if note)})",
    )
