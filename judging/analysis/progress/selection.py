"""Runs chosen by their progress, as an address names them; see `experiments.selection`."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext as _

from judging.analysis.experiments.population import Scope
from judging.analysis.experiments.sources import Source
from judging.analysis.progress.measured import MISSING, Missing
from judging.analysis.progress.rows import RunRow, Stop, rows_of
from judging.analysis.progress.sources import ProgressSource, read_progress_source
from runs.models import Task

KNOWN = "told"
_STOPPED = "stopped-"
_BETWEEN = "-"
_APART = ":"


def progress_value(source: ProgressSource, found: str) -> str:
    """The value of an address: runs of which the source says this."""
    return f"{source.key}{_APART}{found}"


def stopped_at(stop: Stop) -> str:
    """What is found of runs that stopped at this milestone."""
    return f"{_STOPPED}{stop.task}{_BETWEEN}{stop.place}"


def progress_words(value: str) -> str:
    """The value in words.

    Raises:
        ValueError: there is no such value.
    """
    source, found = _read(value)
    if isinstance(found, Missing):
        words = str(MISSING[found])
    elif found is None:
        words = _("known")
    elif isinstance(found, _At):
        words = _("not past milestone %(n)s") % {"n": found.place + 1}
    else:
        words = _("%(low)s to %(high)s %%") % {"low": found[0], "high": found[1]}
    return _("%(said)s (%(source)s)") % {"said": words, "source": source.name}


def runs_of_progress(scope: Scope, verdicts: Source, value: str) -> list[UUID]:
    """The runs of which the source says so.

    Raises:
        ValueError: there is no such value.
    """
    source, found = _read(value)
    return [row.run for row in rows_of(scope, verdicts, source) if _fits(row, found)]


def with_milestones(value: str) -> Q:
    """Runs whose task has so many milestones in force: `1-3`, or `4+`.

    Raises:
        ValueError: there is no such value.
    """
    low, high = read_range(value)
    in_force = Count("milestones", filter=Q(milestones__removed_at=None))
    tasks = Task.objects.filter(pk=OuterRef("task")).order_by().annotate(n_milestones=in_force)
    tasks = tasks.filter(n_milestones__gte=low)
    if high is not None:
        tasks = tasks.filter(n_milestones__lte=high)
    return Q(Exists(tasks))


class _At(NamedTuple):
    task: int
    place: int


_Found = Missing | tuple[int, int] | _At | None


def _read(value: str) -> tuple[ProgressSource, _Found]:
    key, _apart, found = value.partition(_APART)
    source = read_progress_source(key)
    if found == KNOWN:
        return source, None
    if found in set(Missing):
        return source, Missing(found)
    if found.startswith(_STOPPED):
        task, _between, place = found.removeprefix(_STOPPED).partition(_BETWEEN)
        return source, _At(_number(task), _number(place))
    low, high = read_range(found)
    return source, (low, 100 if high is None else high)


def read_range(value: str) -> tuple[int, int | None]:
    """The ends of `3`, `3-5` or `3+`; None for no upper end.

    Raises:
        ValueError: the value is no range of whole numbers.
    """
    if value.endswith("+"):
        return _number(value.removesuffix("+")), None
    low, between, high = value.partition(_BETWEEN)
    return _number(low), _number(high if between else low)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"{text} is no number")
    return int(text)


def _fits(row: RunRow, found: _Found) -> bool:
    if isinstance(found, Missing):
        return row.missing is found
    if isinstance(found, _At):
        return row.stop is not None and (row.stop.task, row.stop.place) == found
    if row.progress is None:
        return False
    return found is None or found[0] <= round(100 * row.progress.maximum, 6) <= found[1]
