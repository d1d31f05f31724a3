"""The heat maps of an experiment of hints, with a number in every cell, and their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.population import RunResult
from judging.analysis.hint_effects.reading import MISSING, Cell, HintEffects
from judging.analysis.reports.showing import DASH, points_words, range_words, why_undefined
from judging.statistics.comparison import Difference
from judging.statistics.figures import Reason, Undefined
from runs.interface.pictures import LINE, as_picture, block, canvas, write
from runs.launching.experiments.hint_plans import Condition
from webagent.knowledge.entries import Level, Relatedness

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDTH = 380
"""About a phone's, so that words keep their size there."""
HEAD = 34
NAME_LINE = 20
CELL = 52
GAP = 3
STRONGEST = 4
"""Steps of colour on either side of nothing."""
_GAIN = ("#e2f3ee", "#c3e5dc", "#9dd4c6", "#73c0ad")
_LOSS = ("#fcebe9", "#f8d3cf", "#f2b3ad", "#ea9089")
"""For the picture on its own; in a page, style sheets paint by class."""


class HeatCell(NamedTuple):
    """One cell. `heat` is −1 to 1, None where there is no figure; `notes` stand under its words."""

    words: str
    notes: Sequence[str]
    heat: float | None


def _draw_cell(axes: Axes, cell: HeatCell, url: str, left: float, top: float, width: float) -> None:
    kind, paint = _heat(cell.heat)
    gid = f".heat.{kind}"
    block(axes, (left, top), width, CELL, fc=paint, ec=LINE, lw=1, url=url, gid=gid)
    middle = left + width / 2
    write(axes, middle, top + 19, cell.words, "name", ha="center", size=15)
    for number, note in enumerate(cell.notes):
        write(axes, middle, top + 33 + 13 * number, note, "words", ha="center", size=10)


def _heat(heat: float | None) -> tuple[str, str]:
    """Class and colour: the side and how strong."""
    if heat is None:
        return "none", "#ffffff"
    step = min(STRONGEST, round(abs(heat) * STRONGEST + 0.499)) if heat else 0
    if not step:
        return "zero", "#ffffff"
    return (f"gain{step}", _GAIN[step - 1]) if heat > 0 else (f"loss{step}", _LOSS[step - 1])


LEVELS: Mapping[Level, Promise] = {
    Level.CONCRETE: gettext_lazy("concrete procedure"),
    Level.ABSTRACT: gettext_lazy("abstract procedure"),
    Level.INSIGHTS: gettext_lazy("general insights"),
}
RELATEDNESSES: Mapping[Relatedness, tuple[Promise, Promise]] = {
    Relatedness.SAME_TASK: (gettext_lazy("same task"), gettext_lazy("upper bound")),
    Relatedness.SAME_SITE_HIGHEST: (gettext_lazy("same site"), gettext_lazy("highest BM25")),
    Relatedness.SAME_SITE_LOWEST: (gettext_lazy("same site"), gettext_lazy("lowest BM25")),
    Relatedness.OTHER_SITE_LOWEST: (gettext_lazy("other site"), gettext_lazy("lowest BM25")),
}
"""Two lines each, for the head of a column."""


def standing_words(word: str) -> str:
    """Where a trial stands, in the reader's language."""
    if word == MISSING:
        return _("no run")
    return str(RunResult(word).label)


def undecided_words(undecided: Counter[str]) -> list[tuple[int, str]]:
    """How many trials have no verdict, and why, the most frequent reason first."""
    return [(n, standing_words(word)) for word, n in undecided.most_common()]


def difference_words(found: Difference) -> str:
    """`+66.7`: percentage points with their sign, a dash where there is none."""
    return DASH if isinstance(found.value, Undefined) else points_words(found.value)


def ends_words(found: Difference) -> str:
    """The ends of the interval, or why there is none."""
    if isinstance(found.value, Undefined):
        return _("no complete task")
    if found.interval == Undefined(Reason.ALL_ALIKE):
        return _("all tasks alike")
    if isinstance(found.interval, Undefined):
        return why_undefined(found.interval)
    return range_words(points_words(found.interval.low), points_words(found.interval.high))


class HeatMap(NamedTuple):
    """What a picture asks, how to read it, and what it shows of a cell."""

    question: Promise
    note: Promise
    cell: Callable[[Cell], HeatCell]


def _points(found: Difference, n: int) -> HeatCell:
    heat = None if isinstance(found.value, Undefined) else found.value
    return HeatCell(difference_words(found), [ends_words(found), f"n = {n}"], heat)


def _counted(sign: str, n: int, tasks: int, cell: Cell) -> HeatCell:
    if not cell.n:
        return HeatCell(DASH, ["", "n = 0"], None)
    trials = cell.n * cell.planned
    in_tasks = _("%(n)d of %(all)d tasks") % {"n": tasks, "all": cell.n}
    notes = [in_tasks, _("%(n)d trials") % {"n": trials}]
    return HeatCell(f"{sign}{n}" if n else "0", notes, (n if sign == "+" else -n) / trials)


_POINTS = gettext_lazy(
    "Difference to runs without hints, in percentage points; interval by task, 95 %; n tasks."
)
_SUCCESSES = gettext_lazy("Difference in successes, added up over these tasks; number of tasks.")
MAPS: Mapping[str, HeatMap] = {
    "difference": HeatMap(
        gettext_lazy("Do hints raise the success rate?"),
        _POINTS,
        lambda cell: _points(cell.difference, cell.n),
    ),
    "best": HeatMap(
        gettext_lazy("And if the best trial counts?"),
        _POINTS,
        lambda cell: _points(cell.best, cell.n),
    ),
    "improvements": HeatMap(
        gettext_lazy("What did hints win?"),
        _SUCCESSES,
        lambda cell: _counted("+", cell.improvements, cell.improved, cell),
    ),
    "deteriorations": HeatMap(
        gettext_lazy("What did hints cost?"),
        _SUCCESSES,
        lambda cell: _counted("−", cell.deteriorations, cell.worsened, cell),
    ),
}
"""By name in the address, in the page's order."""


def heat_map(effects: HintEffects, name: str) -> SafeString:
    """The levels under their names, the sources of the hints under two lines of words.

    Raises KeyError where there is no picture of that name.
    """
    chosen, columns = MAPS[name], effects.relatednesses
    width = (WIDTH - GAP * (len(columns) - 1)) / max(1, len(columns))
    height = HEAD + len(effects.levels) * (NAME_LINE + CELL + GAP)
    titles: dict[str, str] = {}
    with canvas(WIDTH, height) as (figure, axes):
        for place, each in enumerate(columns):
            middle = place * (width + GAP) + width / 2
            for number, words in enumerate(RELATEDNESSES[each]):
                write(axes, middle, 12 + 14 * number, str(words), "axis", ha="center")
        # An upper bound stands apart from what hints bring.
        if Relatedness.SAME_TASK in columns and len(columns) > 1:
            x = width + GAP / 2
            axes.plot([x, x], [2, height - GAP], color=LINE, lw=1, gid=".grid", ls=(0, (3, 3)))
        for index, level in enumerate(effects.levels):
            top = HEAD + index * (NAME_LINE + CELL + GAP)
            write(axes, 0, top + 13, str(LEVELS[level]), "name", size=12)
            for place, each in enumerate(columns):
                condition = Condition(level, each)
                if condition not in effects.cells:
                    continue
                cell, url = chosen.cell(effects.cells[condition]), cell_url(effects, condition)
                _draw_cell(axes, cell, url, place * (width + GAP), top + NAME_LINE, width)
                notes = ", ".join(filter(None, cell.notes))
                titles[url] = f"{condition}: {cell.words} ({notes})"
        return as_picture(figure, f"{chosen.question} {effects.source.name}", titles)


def cell_url(effects: HintEffects, condition: Condition) -> str:
    """Where the tasks behind a cell are listed."""
    pk = effects.experiment.pk
    path = reverse("judging:hint_cell", args=[pk, condition.level, condition.relatedness])
    return f"{path}?{urlencode({'verdict': effects.source.key})}"
