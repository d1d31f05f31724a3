"""What reports of an audit are made of, and the columns and cells that several of them share."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.matrices import Audit
from judging.analysis.audits.people.against import Ceiling, Detector, ceiling_of, detectors_of
from judging.analysis.audits.people.agreement import Agreement, agreement_of
from judging.analysis.audits.population import Shown as Verdict
from judging.analysis.audits.query import InCells, Pairing, Selection, Unsure
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources, sources_of
from judging.analysis.causes.tags import CauseAudit, causes_of
from judging.analysis.reports.report import Cell, Column, Field, figure_values, parted, plain, why
from judging.analysis.reports.showing import DASH, Shown
from judging.models import Study


class AuditFacts(Audit):
    """The same with everything else that reports of an audit are made of."""

    def title(self, about: str) -> str:
        name = f"{self.study.name} ({self.query.split})" if self.query.split else self.study.name
        return f"{name}: {about}"

    @property
    def notes(self) -> list[str]:
        return []

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
        return ceiling_of(self.sources)

    @cached_property
    def detectors(self) -> Mapping[tuple[str, str], Detector]:
        return detectors_of(self.study)

    @cached_property
    def causes(self) -> Sequence[CauseAudit]:
        return causes_of(self)


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
    parts = [*ESTIMATE, UNDEFINED]
    return parted(parts, name, spread=lambda it: [*figure_values(it), why(it.value)], show=show)


RUNS = Column("runs", _("runs"))
NUMBER = plain("number", _("number"), "position")
RUN: Field = (Column("run", _("run")), lambda item: str(item.run_id))
TASK = plain("task", _("task"), "run.task.external_id")
SITE = plain("site", _("site"), "run.task.site")
GOAL: Field = (Column("goal", _("goal")), lambda item: item.run.goal or item.run.task.goal)
REFERENCE = plain("reference", _("reference"), "verdict.verdict")


def in_cells(
    study: Study,
    n: int,
    cells: Sequence[tuple[VerdictSource, Sequence[Verdict]]],
    groups: Mapping[str, str] | None = None,
) -> Cell:
    """So many runs that are in all of these cells, and in these groups, with where they are listed.

    Without an address where a group has no name, which no selection can ask for.
    """
    if groups and not all(groups.values()):
        return Cell(n)
    chosen = [InCells(source, list(which)) for source, which in cells]
    return Cell(n, _address(study, Selection(cells=chosen, groups=groups or {})))


def differing(study: Study, n: int, first: VerdictSource, second: VerdictSource) -> Cell:
    """So many runs on which the two differ, with where they are listed."""
    return Cell(n, _address(study, Selection(differ=(first, second))))


def _address(study: Study, selection: Selection) -> str:
    return f"{reverse('judging:audit_triangle', args=[study.pk])}?{selection.query}"
