"""The table of runs behind a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import django_tables2 as tables
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.explanations import decided_by
from judging.analysis.wording import reason_words
from judging.models import Cause, Repair
from runs.interface.words import cell, verdict

if TYPE_CHECKING:
    from judging.analysis.audits.causes_filter import TaggedItem
    from judging.analysis.audits.cells import JudgedItem
from collections.abc import Sequence

from judging.analysis.audits.cells import Shown, items_in_cells
from judging.analysis.audits.columns import GOAL, NUMBER, REFERENCE, RUN, SITE, TASK
from judging.analysis.reports.report import Column, Report
from judging.models import EvaluatorVersion, Study

POSITION = {"td": {"class": "num fit desk"}, "th": {"class": "num fit"}}
FIT = {"td": {"class": "fit"}, "th": {"class": "fit"}}


# The library has no types; a class of it is Any.
class CellTable(tables.Table):  # type: ignore[misc]
    """One run a row, in the study's order unless sorted otherwise."""

    is_partial = True

    chosen = tables.Column(
        verbose_name=gettext_lazy("Select"),
        accessor="pk",
        orderable=False,
        attrs={"td": {"class": "fit choose"}},
    )
    position = tables.Column(verbose_name="#", attrs=POSITION)
    goal = tables.Column(
        verbose_name=gettext_lazy("goal"),
        accessor="run__goal",
        empty_values=(),
        attrs={"td": {"class": "wide first truncate"}},
    )
    task = tables.Column(verbose_name=gettext_lazy("task"), accessor="run__task__external_id")
    site = tables.Column(verbose_name=gettext_lazy("site"), accessor="run__task__site")
    reference = tables.Column(
        verbose_name=gettext_lazy("reference"), accessor="verdict__verdict", attrs=FIT
    )
    cell = tables.Column(verbose_name=gettext_lazy("cell"), attrs=FIT)
    decided = tables.Column(
        verbose_name=gettext_lazy("decided by"),
        accessor="said_details",
        orderable=False,
        empty_values=(),
    )
    causes = tables.Column(
        verbose_name=gettext_lazy("causes"),
        accessor="tag_repair",
        empty_values=(),
        attrs={"td": {"class": "causes-told"}},
    )
    answer = tables.Column(
        verbose_name=gettext_lazy("final answer"),
        accessor="run__final_answer",
        attrs={"td": {"class": "answer"}},
    )
    n_steps = tables.Column(
        verbose_name=gettext_lazy("steps"), accessor="run__n_steps", attrs=POSITION
    )

    class Meta:
        attrs = {"class": "table list"}
        row_attrs = {"data-run": lambda record: str(record.run_id)}
        order_by = ("position",)

    def __init__(
        self, *args: Any, walk: dict[str, str], chooses: bool = False, **kwargs: Any
    ) -> None:
        cells = walk["cell"].split("-")
        left_out = [] if "fn" in cells or "fp" in cells else ["causes", "chosen"]
        super().__init__(*args, exclude=left_out if chooses else [*left_out, "chosen"], **kwargs)
        self.walk = walk
        self.can_choose = chooses and not left_out

    def render_goal(self, record: JudgedItem) -> SafeString:
        address = reverse("runs:run_detail", args=[record.run_id])
        return format_html(
            '<a class="row-link" href="{}?{}">{}</a>',
            address,
            urlencode(self.walk),
            record.run.goal or record.run.task.goal or _("(no goal)"),
        )

    def render_reference(self, value: str) -> SafeString:
        return verdict(value)

    def render_cell(self, value: str) -> SafeString:
        return cell(value)

    def render_decided(self, record: JudgedItem) -> str:
        if record.said_verdict is None:
            return _("not evaluated yet")
        return reason_words(record.said_reason or "") or decided_by(record.said_details) or "—"

    def render_chosen(self, record: TaggedItem) -> SafeString | str:
        if record.cell not in ("fn", "fp"):
            return ""
        return format_html(
            '<input type="checkbox" name="item" value="{}" form="cause-form" aria-label="{}">',
            record.pk,
            _("Select run %(n)s") % {"n": record.position},
        )

    def render_causes(self, record: TaggedItem) -> str:
        if record.cell not in ("fn", "fp"):
            return ""
        if not record.tag_repair:
            return "—"
        causes = ", ".join(str(Cause(cause).label) for cause in record.tag_causes or [])
        return f"{causes} → {Repair(record.tag_repair).label}"

    def render_answer(self, value: str) -> str:
        return value if len(value) <= 120 else f"{value[:120]}…"


def cells_table(study: Study, evaluator: EvaluatorVersion, cells: Sequence[Shown]) -> Report:
    """One row a run of the cells, in the study's order."""
    items = items_in_cells(study, evaluator, cells)
    rows = [
        (
            item.position,
            str(item.run_id),
            item.run.task.external_id,
            item.run.task.site,
            item.run.goal or item.run.task.goal,
            item.verdict.verdict,
            item.cell,
            item.said_verdict,
            item.said_score,
            item.said_reason,
            decided_by(item.said_details),
            item.run.final_answer,
        )
        for item in items
    ]
    columns = [
        NUMBER,
        RUN,
        TASK,
        SITE,
        GOAL,
        REFERENCE,
        Column("cell", gettext_lazy("cell")),
        Column("verdict", gettext_lazy("verdict")),
        Column("score", gettext_lazy("score")),
        Column("reason", gettext_lazy("reason")),
        Column("decided_by", gettext_lazy("decided by")),
        Column("final_answer", gettext_lazy("final answer")),
    ]
    names = ", ".join(cell.upper() for cell in cells)
    title = _("%(study)s: %(cells)s of %(evaluator)s") % {
        "study": study.name,
        "cells": names,
        "evaluator": evaluator,
    }
    return Report(name="-".join(cells), title=title, columns=columns, rows=rows)
