"""Columns and values that the tables of an audit share."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from judging.analysis.reports.report import Column, Value
from judging.models import EvaluatorVersion

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
