"""The runs of cells as a table to take away."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.cells import Shown, items_in_cells
from judging.analysis.audits.columns import GOAL, NUMBER, REFERENCE, RUN, SITE, TASK
from judging.analysis.audits.explanations import decided_by
from judging.analysis.reports import Column, Table
from judging.models import EvaluatorVersion, Study


def cells_table(study: Study, evaluator: EvaluatorVersion, cells: Sequence[Shown]) -> Table:
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
    return Table(name="-".join(cells), title=title, columns=columns, rows=rows)
