"""Columns and values that the tables of an audit share."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from judging.models import EvaluatorVersion
from judging.reports import Column, Value
from judging.statistics.figures import Figure, Interval, Undefined
from judging.wording import why_undefined

EVALUATOR = Column("evaluator", gettext_lazy("evaluator"))
VERSION = Column("version", gettext_lazy("version"))
RUNS = Column("runs", gettext_lazy("runs"))
VALUE = Column("value", gettext_lazy("value"))
LOW = Column("low", gettext_lazy("lower end, 95 %"))
HIGH = Column("high", gettext_lazy("upper end, 95 %"))
COUNT = Column("count", gettext_lazy("count"))
TOTAL = Column("total", gettext_lazy("of"))
METHOD = Column("method", gettext_lazy("interval"))
UNDEFINED = Column("undefined_because", gettext_lazy("undefined because"))
NUMBER = Column("number", gettext_lazy("number"))
RUN = Column("run", gettext_lazy("run"))
TASK = Column("task", gettext_lazy("task"))
SITE = Column("site", gettext_lazy("site"))
GOAL = Column("goal", gettext_lazy("goal"))
REFERENCE = Column("reference", gettext_lazy("reference"))


def named(evaluator: EvaluatorVersion) -> list[Value]:
    """Under `EVALUATOR` and `VERSION`."""
    return [evaluator.name, evaluator.full_version]


def number(figure: Figure | None) -> float | None:
    """Under `VALUE`; empty where there is no figure."""
    return None if figure is None or isinstance(figure, Undefined) else float(figure)


def ends(interval: Interval | Undefined | None) -> list[Value]:
    """Under `LOW` and `HIGH`."""
    return [interval.low, interval.high] if isinstance(interval, Interval) else [None, None]


def method(interval: Interval | Undefined | None) -> str | None:
    """Under `METHOD`."""
    return interval.method if isinstance(interval, Interval) else None


def why(figure: Figure | None) -> str | None:
    """Under `UNDEFINED`."""
    return why_undefined(figure) if isinstance(figure, Undefined) else None
