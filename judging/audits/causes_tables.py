"""The causes of errors as tables to take away."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.audits.causes import CauseAudit, Counted, causes_of
from judging.audits.causes_filter import TAGGED, TagFilter, with_tags
from judging.audits.cells import Shown, items_in_cells
from judging.models import Study
from judging.reports import Column, Table, Value
from judging.statistics.figures import Undefined
from judging.statistics.proportions import Share

EVALUATOR = Column("evaluator", gettext_lazy("evaluator"))
VERSION = Column("version", gettext_lazy("version"))


def causes_table(study: Study) -> Table:
    """One row a cause or place of repair of an evaluator, with its FNs and FPs."""
    rows: list[list[Value]] = [
        [
            each.audit.evaluator.name,
            each.audit.evaluator.full_version,
            kind,
            key,
            count.fn,
            count.fp,
        ]
        for each in causes_of(study)
        for kind, key, count in _counts(each)
    ]
    columns = [
        EVALUATOR,
        VERSION,
        Column("kind", gettext_lazy("kind")),
        Column("value", gettext_lazy("value")),
        Column("fn", "FN"),
        Column("fp", "FP"),
    ]
    title = _("%(study)s: causes of the evaluators' errors") % {"study": study.name}
    note = _("An error counts under each of its causes, and once under its repair.")
    return Table(name="causes", title=title, columns=columns, rows=rows, notes=[note])


def _counts(causes: CauseAudit) -> Iterable[tuple[str, str, Counted]]:
    for cause, count in causes.by_cause.items():
        yield "cause", cause.value, count
    for repair, count in causes.by_repair.items():
        yield "repair", repair.value, count
    yield "untagged", "", causes.untagged
    yield "errors", "", causes.errors


def success_rates_table(study: Study) -> Table:
    """One row a success rate: as it stands, as it would be if errors were repaired, and true."""
    rows = [
        [each.audit.evaluator.name, each.audit.evaluator.full_version, key, *_share(share)]
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
        Column("rate", gettext_lazy("success rate")),
        Column("count", gettext_lazy("count")),
        Column("total", gettext_lazy("of")),
        Column("value", gettext_lazy("value")),
        Column("low", gettext_lazy("lower end, 95 %")),
        Column("high", gettext_lazy("upper end, 95 %")),
    ]
    title = _("%(study)s: success rates if tagged errors were repaired") % {"study": study.name}
    note = _("Over the runs on which the evaluator has a verdict; Wilson's intervals.")
    return Table(name="success_rates", title=title, columns=columns, rows=rows, notes=[note])


def _share(share: Share) -> list[Value]:
    value, interval = share.value, share.interval
    if isinstance(value, Undefined) or isinstance(interval, Undefined):
        return [share.count, share.total, None, None, None]
    return [share.count, share.total, value, interval.low, interval.high]


def tags_table(study: Study) -> Table:
    """One row a tagged error of an evaluator, in the study's order."""
    rows: list[list[Value]] = []
    for each in causes_of(study):
        evaluator = each.audit.evaluator
        items = items_in_cells(study, evaluator, [Shown.FN, Shown.FP])
        for item in with_tags(items, evaluator, TagFilter(TAGGED)):
            rows.append(
                [
                    evaluator.name,
                    evaluator.full_version,
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
        Column("number", gettext_lazy("number")),
        Column("run", gettext_lazy("run")),
        Column("task", gettext_lazy("task")),
        Column("error", gettext_lazy("error")),
        Column("causes", gettext_lazy("causes")),
        Column("repair", gettext_lazy("repair")),
        Column("note", gettext_lazy("note")),
    ]
    title = _("%(study)s: tagged errors of the evaluators") % {"study": study.name}
    return Table(name="tagged_errors", title=title, columns=columns, rows=rows)
