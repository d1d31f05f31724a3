"""What the reports of an audit are made of, and the columns that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.matrices import (
    Audit,
    Corrected,
    Resampled,
    audit_of,
    corrected_rates,
    resampled,
)
from judging.analysis.audits.people.agreement import Agreement, agreement_of
from judging.analysis.audits.people.detectors import Detected, detectors_of
from judging.analysis.audits.people.evaluators import Ceiling, ceiling_of
from judging.analysis.audits.query import AuditQuery, Pairing, Unsure
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources, sources_of
from judging.analysis.causes.sums import CauseAudit, causes_of
from judging.analysis.reports.columns import figure_values, why
from judging.analysis.reports.report import Column
from judging.analysis.reports.showing import DASH, Shown
from judging.models import Study


class AuditFacts:
    """The audit of a study, counted as a query says. Everything is read once."""

    def __init__(self, study: Study, query: AuditQuery | None = None) -> None:
        self.study = study
        self.query = query or AuditQuery()

    def title(self, about: str) -> str:
        name = f"{self.study.name} ({self.query.split})" if self.query.split else self.study.name
        return f"{name}: {about}"

    @property
    def notes(self) -> list[str]:
        return []

    @cached_property
    def audit(self) -> Audit:
        return audit_of(self.study, self.query)

    @cached_property
    def resampled(self) -> Resampled:
        return resampled(self.audit)

    @cached_property
    def corrected(self) -> list[Corrected]:
        return corrected_rates(self.audit)

    @cached_property
    def sources(self) -> VerdictSources:
        return sources_of(self.study)

    @cached_property
    def agreement(self) -> Agreement:
        return agreement_of(
            self.study,
            counts_unsure=self.query.unsure is Unsure.IN,
            by_order=self.query.pairing is Pairing.ORDER,
        )

    @cached_property
    def ceiling(self) -> Ceiling:
        return ceiling_of(self.study, self.sources)

    @cached_property
    def detected(self) -> Detected:
        return detectors_of(self.study)

    @cached_property
    def causes(self) -> Sequence[CauseAudit]:
        return causes_of(self.study, self.audit)


EVALUATOR = Column(
    "evaluator",
    _("evaluator"),
    parts=["evaluator", "version"],
    spread=lambda version: [version.name, version.full_version],
    is_text=True,
)


def source_column(key: str, name: Promise) -> Column:
    """Who said something: by its name in files, and by its short name on pages."""
    return Column(
        key,
        name,
        spread=lambda source: [source.name if isinstance(source, VerdictSource) else source],
        show=lambda source: Shown(
            source.shown if isinstance(source, VerdictSource) else source or DASH
        ),
        is_text=True,
    )


ESTIMATE = ("value", "low", "high", "method")
"""Keys of a figure with its interval, and how that was found."""
UNDEFINED = "undefined_because"


def estimated(name: Promise, show: Callable[[Any], Shown]) -> Column:
    """A figure: in files its value, its interval, how that was found, and why there is none."""
    return Column(
        "value",
        name,
        parts=[*ESTIMATE, UNDEFINED],
        spread=lambda each: [*figure_values(each), why(each.value)],
        show=show,
    )


RUNS = Column("runs", _("runs"))
NUMBER = Column("number", _("number"))
RUN = Column("run", _("run"))
TASK = Column("task", _("task"))
SITE = Column("site", _("site"))
GOAL = Column("goal", _("goal"))
REFERENCE = Column("reference", _("reference"))
