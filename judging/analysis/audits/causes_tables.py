"""The causes of errors as tables to take away."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.causes import CauseAudit, Counted, causes_of
from judging.analysis.audits.causes_filter import TAGGED, TagFilter, with_tags
from judging.analysis.audits.cells import Shown, items_in_cells
from judging.analysis.audits.columns import (
    COUNT,
    EVALUATOR,
    HIGH,
    LOW,
    NUMBER,
    RUN,
    TASK,
    TOTAL,
    VALUE,
    VERSION,
    named,
)
from judging.analysis.reports.columns import counted
from judging.analysis.reports.report import Column, Report, Value
from judging.models import Study


def causes_table(study: Study) -> Report:
    """One row a cause or place of repair of an evaluator, with its FNs and FPs."""
    rows: list[list[Value]] = [
        [*named(each.audit.evaluator), kind, key, count.fn, count.fp]
        for each in causes_of(study)
        for kind, key, count in _counts(each)
    ]
    columns = [
        EVALUATOR,
        VERSION,
        Column("kind", _("kind")),
        VALUE,
        Column("fn", "FN"),
        Column("fp", "FP"),
    ]
    title = gettext("%(study)s: causes of the evaluators' errors") % {"study": study.name}
    note = gettext("An error counts under each of its causes, and once under its repair.")
    return Report(name="causes", title=title, columns=columns, rows=rows, notes=[note])


def _counts(causes: CauseAudit) -> Iterable[tuple[str, str, Counted]]:
    for cause, count in causes.by_cause.items():
        yield "cause", cause.value, count
    for repair, count in causes.by_repair.items():
        yield "repair", repair.value, count
    yield "untagged", "", causes.untagged
    yield "errors", "", causes.errors


def success_rates_table(study: Study) -> Report:
    """One row a success rate: as it stands, as it would be if errors were repaired, and true."""
    rows = [
        [*named(each.audit.evaluator), key, *counted(share)]
        for each in causes_of(study)
        for key, share in (
            ("now", each.rates.now),
            ("fn_task_data_repaired", each.rates.task_data),
            ("fn_evaluation_logic_repaired", each.rates.evaluation_logic),
            ("fn_repaired", each.rates.fn_repaired),
            ("all_repaired", each.rates.all_repaired),
            ("reference", each.rates.reference),
        )
    ]
    columns = [
        EVALUATOR,
        VERSION,
        Column("rate", _("success rate")),
        COUNT,
        TOTAL,
        VALUE,
        LOW,
        HIGH,
    ]
    title = gettext("%(study)s: success rates if tagged errors were repaired") % {
        "study": study.name
    }
    note = gettext("Over the runs on which the evaluator has a verdict; Wilson's intervals.")
    return Report(name="success_rates", title=title, columns=columns, rows=rows, notes=[note])


def tags_table(study: Study) -> Report:
    """One row a tagged error of an evaluator, in the study's order."""
    rows: list[list[Value]] = []
    for each in causes_of(study):
        evaluator = each.audit.evaluator
        items = items_in_cells(study, evaluator, [Shown.FN, Shown.FP])
        for item in with_tags(items, evaluator, TagFilter(TAGGED)):
            rows.append(
                [
                    *named(evaluator),
                    item.position,
                    str(item.run_id),
                    item.run.task.external_id,
                    item.cell,
                    ", ".join(item.tag_causes or []),
                    item.tag_repair,
                    item.tag_note,
                ]
            )
    columns = [
        EVALUATOR,
        VERSION,
        NUMBER,
        RUN,
        TASK,
        Column("error", _("error")),
        Column("causes", _("causes")),
        Column("repair", _("repair")),
        Column("note", _("note")),
    ]
    title = gettext("%(study)s: tagged errors of the evaluators") % {"study": study.name}
    return Report(name="tagged_errors", title=title, columns=columns, rows=rows)
