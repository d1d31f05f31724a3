"""Verdicts run by run: of one evaluator in some cells, and of everybody beside each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from django.db.models import Expression
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.explanations import decided_by
from judging.analysis.audits.facts import GOAL, NUMBER, REFERENCE, RUN, SITE, TASK, AuditFacts
from judging.analysis.audits.matrices import NOT_EVALUATED, cell_under
from judging.analysis.audits.population import Shown, items_in_cells, shown
from judging.analysis.audits.query import SelectedItem, Selection, selected_items
from judging.analysis.audits.verdict_sources import (
    STEPS,
    VerdictSource,
    VerdictSources,
    step_verdict,
)
from judging.analysis.reports.report import Column, Field, Report, parted, plain, report_of
from judging.models import Evaluation, EvaluatorVersion, Label, Study, StudyItem
from webagent.measures import batched

BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one source said of one run, in the words of evaluations or of labels.

    `verdict` is empty where nothing was asked or said; `reason` says why there is no verdict;
    `cell` is empty for annotators.
    """

    verdict: str = ""
    cell: str = ""
    reason: str = ""
    decided: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether it contradicts the reference."""
        return self.cell in (Shown.FN, Shown.FP)


NOTHING = Said()


@dataclass(slots=True)
class RunVerdicts:
    labels: dict[str, str] = field(default_factory=dict)
    """By annotator, in the order in which they came."""
    said: dict[str, Said] = field(default_factory=dict)

    def by(self, source: VerdictSource) -> Said:
        return self.said.get(source.key, NOTHING)


def verdicts_on(
    items: Sequence[StudyItem], sources: VerdictSources, wanted: Sequence[VerdictSource]
) -> Mapping[int, RunVerdicts]:
    """What the wanted sources said of these runs, by item, in two queries."""
    found = {item.pk: RunVerdicts() for item in items}
    by_run = {item.run_id: item for item in items}
    for item_id, annotator, success in (
        Label.objects.filter(item__among=found, is_repeat=False)
        .order_by("submitted_at", "annotator__username")
        .values_list("item", "annotator__username", "success")
    ):
        found[item_id].labels[annotator] = success
    for row in _evaluations(by_run, sources, wanted):
        item = by_run[row["run"]]
        said, reference = found[item.pk].said, item.verdict.verdict
        for step in sources.steps.get(row["evaluator"], ()):
            said[step.key] = _said(row[f"step_{step.step}"] or "", reference)
        said[str(row["evaluator"])] = _said(
            row["verdict"], reference, reason=row["reason"], decided=decided_by(row["details"])
        )
    silent = Said(cell=Shown.NONE, reason=NOT_EVALUATED)
    for verdicts in found.values():
        for source in wanted:
            if not source.step:
                verdicts.said.setdefault(source.key, silent)
    return found


def _evaluations(
    by_run: Mapping[UUID, StudyItem], sources: VerdictSources, wanted: Sequence[VerdictSource]
) -> Iterable[dict[str, Any]]:
    steps: dict[str, Expression] = {}
    if sources.steps:
        steps = {f"step_{name}": step_verdict(name, "details") for name in STEPS}
    rows = Evaluation.objects.filter(
        run__among=by_run,
        is_current=True,
        evaluator__in={source.evaluator.pk for source in wanted if source.evaluator},
    ).order_by()
    found = rows.values("run", "evaluator", "verdict", "reason", "details", **steps)
    return cast("Iterable[dict[str, Any]]", found)


def _said(verdict: str, reference: str, **more: str) -> Said:
    return Said(verdict=verdict, cell=shown(cell_under(reference, verdict)), **more)


def verdicts(
    facts: AuditFacts,
    selection: Selection | None = None,
    items: Iterable[SelectedItem] | None = None,
) -> Report:
    """One row a run of the selection; two columns an evaluator, its verdict and its cell.

    Args:
        selection: all counted runs if None, those most disagreed on first.
        items: those of the selection, where they are known.
    """
    sources, selection = facts.sources, selection or Selection()
    wanted = sources.columns(selection.evaluators or sources.evaluators)
    if items is None:
        items = selected_items(selection, sources)
    listed = list(items)
    said: dict[int, RunVerdicts] = {}
    for some in batched(listed, BATCH):
        said.update(verdicts_on(some, sources, wanted))

    def label(by: VerdictSource) -> Field:
        return Column(f"label_{by.name}", by.name), lambda item: said[item.pk].labels.get(by.name)

    def verdict(by: VerdictSource) -> Field:
        return _column(by), lambda item: said[item.pk].by(by)

    note = _(
        "Disagreement: share of the pairs of verdicts on a run that differ, over its annotators "
        "and the evaluators."
    )
    fields = [
        *(NUMBER, RUN, TASK, SITE, TEMPLATE),
        plain("evaluation_kind", gettext_lazy("kind of evaluation"), "run.task.evaluation_kind"),
        GOAL,
        plain("disagreement", gettext_lazy("disagreement")),
        *map(label, sources.annotators),
        REFERENCE,
        *map(verdict, wanted),
    ]
    return report_of(listed, fields, notes=[note])


TEMPLATE: Field = (
    Column("template", gettext_lazy("template")),
    lambda item: item.run.task.template or item.run.task.intent_template,
)


def _column(source: VerdictSource) -> Column:
    # Two evaluators may share a name and a version, so the number tells them apart.
    key = f"{source.key}_{source.evaluator.name}" if source.evaluator else source.key
    parts = [f"{key}_verdict", f"{key}_cell"]
    return parted(parts, source.name, spread=lambda said: [said.verdict or None, said.cell or None])


def cells_report(study: Study, evaluator: EvaluatorVersion, cells: Sequence[Shown]) -> Report:
    """One row a run of the cells, in the study's order."""
    title = _("%(study)s: %(cells)s of %(evaluator)s") % {
        "study": study.name,
        "cells": ", ".join(cell.upper() for cell in cells),
        "evaluator": evaluator,
    }
    decided = Column("decided_by", gettext_lazy("decided by"))
    return report_of(
        items_in_cells(study, evaluator, cells),
        [
            *(NUMBER, RUN, TASK, SITE, GOAL, REFERENCE),
            plain("cell", gettext_lazy("cell")),
            plain("verdict", gettext_lazy("verdict"), "said_verdict"),
            plain("score", gettext_lazy("score"), "said_score"),
            plain("reason", gettext_lazy("reason"), "said_reason"),
            (decided, lambda item: decided_by(item.said_details)),
            plain("final_answer", gettext_lazy("final answer"), "run.final_answer"),
        ],
        name="-".join(cells),
        title=title,
    )
