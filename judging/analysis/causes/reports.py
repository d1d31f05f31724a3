"""Reports on the causes of errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.facts import EVALUATOR, NUMBER, RUN, TASK, AuditFacts
from judging.analysis.audits.population import Shown, items_in_cells
from judging.analysis.causes.sums import TAGGED, CauseAudit, Counted, TagFilter, with_tags
from judging.analysis.reports.columns import share
from judging.analysis.reports.report import Column, Report


def causes(facts: AuditFacts) -> Report:
    """One row a cause or place of repair of an evaluator, with its FNs and FPs."""
    return Report(
        columns=[
            EVALUATOR,
            Column("kind", _("kind")),
            Column("value", _("value")),
            Column("fn", "FN"),
            Column("fp", "FP"),
        ],
        rows=[
            [each.audit.evaluator, kind, key, *count]
            for each in facts.causes
            for kind, key, count in _counts(each)
        ],
        notes=[gettext("An error counts under each of its causes, and once under its repair.")],
    )


def _counts(causes: CauseAudit) -> Iterable[tuple[str, str, Counted]]:
    for cause, count in causes.by_cause.items():
        yield "cause", cause.value, count
    for repair, count in causes.by_repair.items():
        yield "repair", repair.value, count
    yield "untagged", "", causes.untagged
    yield "errors", "", causes.errors


def success_rates(facts: AuditFacts) -> Report:
    """One row a success rate: as it stands, as it would be if errors were repaired, and true."""
    rates = {
        "now": "now",
        "fn_task_data_repaired": "task_data",
        "fn_evaluation_logic_repaired": "evaluation_logic",
        "fn_repaired": "fn_repaired",
        "all_repaired": "all_repaired",
        "reference": "reference",
    }
    return Report(
        columns=[
            EVALUATOR,
            Column("rate", _("success rate")),
            share(_("value"), keys=("count", "total", "value", "low", "high")),
        ],
        rows=[
            [each.audit.evaluator, key, getattr(each.rates, rate)]
            for each in facts.causes
            for key, rate in rates.items()
        ],
        notes=[gettext("Over the runs on which the evaluator has a verdict; Wilson's intervals.")],
    )


def tagged_errors(facts: AuditFacts) -> Report:
    """One row a tagged error of an evaluator, in the study's order."""
    rows: list[list[Any]] = []
    for each in facts.causes:
        evaluator = each.audit.evaluator
        items = items_in_cells(facts.study, evaluator, [Shown.FN, Shown.FP])
        rows += [
            [
                evaluator,
                item.position,
                str(item.run_id),
                item.run.task.external_id,
                item.cell,
                ", ".join(item.tag_causes or []),
                item.tag_repair,
                item.tag_note,
            ]
            for item in with_tags(items, evaluator, TagFilter(TAGGED))
        ]
    return Report(
        columns=[
            EVALUATOR,
            NUMBER,
            RUN,
            TASK,
            Column("error", _("error")),
            Column("causes", _("causes")),
            Column("repair", _("repair")),
            Column("note", _("note")),
        ],
        rows=rows,
    )
