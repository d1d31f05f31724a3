"""The triangle as a table to take away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.columns import GOAL, NUMBER, REFERENCE, RUN, SITE, TASK
from judging.analysis.audits.selection import Selection, selected_items
from judging.analysis.audits.triangle import RunVerdicts, verdicts_on
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources, sources_of
from judging.analysis.reports.report import Column, Report, Value
from judging.models import Study

if TYPE_CHECKING:
    from judging.analysis.audits.selection import SelectedItem

BATCH = 500


def triangle_table(study: Study) -> Report:
    """All counted runs of the study, those most disagreed on first."""
    sources = sources_of(study)
    selection = Selection()
    return triangle_rows(study, selected_items(study, selection, sources), sources, selection)


def triangle_rows(
    study: Study, items: Iterable[SelectedItem], sources: VerdictSources, selection: Selection
) -> Report:
    """One row a run of the selection; two columns an evaluator, its verdict and its cell."""
    shown = sources.columns(selection.evaluators or sources.evaluators)
    all_items = list(items)
    rows: list[list[Value]] = []
    for start in range(0, len(all_items), BATCH):
        batch = all_items[start : start + BATCH]
        said = verdicts_on(batch, sources, shown)
        rows += [_row(item, said[item.pk], sources, shown) for item in batch]
    columns = [
        NUMBER,
        RUN,
        TASK,
        SITE,
        Column("template", gettext_lazy("template")),
        Column("evaluation_kind", gettext_lazy("kind of evaluation")),
        GOAL,
        Column("disagreement", gettext_lazy("disagreement")),
        *(Column(f"label_{source.name}", source.name) for source in sources.annotators),
        REFERENCE,
        *(column for source in shown for column in _columns(source)),
    ]
    title = _("%(study)s: what everybody said of each run") % {"study": study.name}
    return Report(name="triangle", title=title, columns=columns, rows=rows, notes=[_note()])


def _note() -> str:
    return _(
        "Disagreement: share of the pairs of verdicts on a run that differ, over its annotators "
        "and the evaluators."
    )


def _columns(source: VerdictSource) -> list[Column]:
    # Two evaluators may share a name and a version, so the number tells them apart.
    key = f"{source.key}_{source.evaluator.name}" if source.evaluator else source.key
    cell = _("%(name)s, cell") % {"name": source.name}
    return [Column(f"{key}_verdict", source.name), Column(f"{key}_cell", cell)]


def _row(
    item: SelectedItem, said: RunVerdicts, sources: VerdictSources, shown: Sequence[VerdictSource]
) -> list[Value]:
    task = item.run.task
    labels = {label.annotator: label.success for label in said.labels}
    verdicts: list[Value] = []
    for source in shown:
        found = said.by(source)
        verdicts += [found.verdict or None, found.cell or None]
    return [
        item.position,
        str(item.run_id),
        task.external_id,
        task.site,
        task.template or task.intent_template,
        task.evaluation_kind,
        item.run.goal or task.goal,
        item.disagreement,
        *(labels.get(source.name) for source in sources.annotators),
        item.verdict.verdict,
        *verdicts,
    ]
