"""The triangle as a table to take away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.columns import GOAL, NUMBER, REFERENCE, RUN, SITE, TASK
from judging.analysis.audits.selection import Selection, selected_items
from judging.analysis.audits.triangle import RunVoices, voices_on
from judging.analysis.audits.verdict_sources import VerdictSource, Voices, voices_of
from judging.analysis.reports.report import Column, Report, Value
from judging.models import Study

if TYPE_CHECKING:
    from judging.analysis.audits.selection import SelectedItem

BATCH = 500


def triangle_table(study: Study) -> Report:
    """All counted runs of the study, those most disagreed on first."""
    voices = voices_of(study)
    selection = Selection()
    return triangle_rows(study, selected_items(study, selection, voices), voices, selection)


def triangle_rows(
    study: Study, items: Iterable[SelectedItem], voices: Voices, selection: Selection
) -> Report:
    """One row a run of the selection; two columns an evaluator, its verdict and its cell."""
    shown = voices.columns(selection.evaluators or voices.evaluators)
    all_items = list(items)
    rows: list[list[Value]] = []
    for start in range(0, len(all_items), BATCH):
        batch = all_items[start : start + BATCH]
        said = voices_on(batch, voices, shown)
        rows += [_row(item, said[item.pk], voices, shown) for item in batch]
    columns = [
        NUMBER,
        RUN,
        TASK,
        SITE,
        Column("template", gettext_lazy("template")),
        Column("evaluation_kind", gettext_lazy("kind of evaluation")),
        GOAL,
        Column("disagreement", gettext_lazy("disagreement")),
        *(Column(f"label_{voice.name}", voice.name) for voice in voices.annotators),
        REFERENCE,
        *(column for voice in shown for column in _columns(voice)),
    ]
    title = _("%(study)s: what everybody said of each run") % {"study": study.name}
    return Report(name="triangle", title=title, columns=columns, rows=rows, notes=[_note()])


def _note() -> str:
    return _(
        "Disagreement: share of the pairs of verdicts on a run that differ, over its annotators "
        "and the evaluators."
    )


def _columns(voice: VerdictSource) -> list[Column]:
    # Two evaluators may share a name and a version, so the number tells them apart.
    key = f"{voice.key}_{voice.evaluator.name}" if voice.evaluator else voice.key
    cell = _("%(name)s, cell") % {"name": voice.name}
    return [Column(f"{key}_verdict", voice.name), Column(f"{key}_cell", cell)]


def _row(
    item: SelectedItem, said: RunVoices, voices: Voices, shown: Sequence[VerdictSource]
) -> list[Value]:
    task = item.run.task
    labels = {label.annotator: label.success for label in said.labels}
    verdicts: list[Value] = []
    for voice in shown:
        found = said.by(voice)
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
        *(labels.get(voice.name) for voice in voices.annotators),
        item.verdict.verdict,
        *verdicts,
    ]
