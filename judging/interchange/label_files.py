"""Labels, verdicts and adjudications of a table, stored as those that come with runs are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from judging.act_kinds import LABELS_IMPORTED
from judging.interchange.evaluations import store_evaluations
from judging.interchange.faults import Fault
from judging.interchange.labels import store_labels
from judging.interchange.row_fields import KNOWN
from judging.interchange.row_records import RowError, record_of, run_of
from judging.interchange.rows import BadRow, Row, read_rows
from judging.interchange.studies import IMPORTED, NAME_CHARS, NOT_ENTERED
from judging.interchange.verdicts import store_adjudications
from judging.models import Evaluation, Label, ReferenceVerdict, Study, StudyItem
from judging.services.settlement import close_if_complete
from runs.models import Run
from runs.services.acts import record_act
from webagent.trajectory.records import AdjudicationRecord, EvaluationRecord, LabelRecord

MOST_LISTED = 20
"""Bad rows, and columns that are not read, listed one by one."""
CLOSED = "the run's labels settled it or are disputed in this study already"
OTHER_VERDICT = "the evaluator has another verdict on this run"


class StudyNameError(ValueError):
    """Labels cannot go to a study of that name."""


@dataclass(slots=True)
class LabelReport:
    """What a file brought, or would bring; nothing was stored where rows are bad."""

    rows: int = 0
    labels: int = 0
    verdicts: int = 0
    adjudications: int = 0
    already_there: int = 0
    settled: int = 0
    disputed: int = 0
    waiting: int = 0
    """Runs with fewer labels than the study asks for."""
    bad: int = 0
    listed: list[BadRow] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    """Columns that nothing is known of, and the line where each was met first."""

    def refuse(self, bad: BadRow) -> None:
        """Count the row, and list it among the first."""
        self.bad += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append(bad)


def import_labels(file: BinaryIO, *, study: str, dry_run: bool = False) -> LabelReport:
    """Store what the rows say, all or none of it; twice is as good as once.

    Raises:
        StudyNameError: the study is kept here by people, or the name is none.
    """
    _check_name(study)
    report = LabelReport()
    with transaction.atomic():
        brought = _Import(study, report)
        for found in read_rows(file):
            report.rows += 1
            bad = found if isinstance(found, BadRow) else brought.store(found)
            if bad:
                report.refuse(bad)
        if not report.bad:
            _close(study, report)
            record_act(LABELS_IMPORTED, words=study, after=f"{report.rows} rows")
        if dry_run or report.bad:
            transaction.set_rollback(True)
    return report


def _check_name(study: str) -> None:
    if not study.strip() or len(study) > NAME_CHARS or not study.isprintable():
        raise StudyNameError(f"a study's name has 1 to {NAME_CHARS} characters")
    known = Study.objects.filter(name=study).first()
    if known and not known.run_filter.get(IMPORTED):
        raise StudyNameError(NOT_ENTERED)


class _Import:
    """One file on its way in."""

    def __init__(self, study: str, report: LabelReport) -> None:
        self._study = study
        self._report = report
        self._touched: set[UUID] = set()
        """Runs that got a label or an adjudication from this file."""

    def store(self, row: Row) -> BadRow | None:
        """Store one row; what is wrong with it, if anything is."""
        for name in row.values.keys() - KNOWN:
            if len(self._report.unread) < MOST_LISTED:
                self._report.unread.setdefault(name, row.line)
        try:
            run = run_of(row.values)
            record = record_of(row.values, run, self._study)
            is_new = self._stored(run, record)
        except RowError as error:
            return BadRow(row.line, error.field, str(error))
        except OverflowError:
            return BadRow(row.line, "at", "is out of range")
        if not is_new:
            self._report.already_there += 1
        return None

    def _stored(
        self, run: Run, record: LabelRecord | EvaluationRecord | AdjudicationRecord
    ) -> bool:
        if isinstance(record, LabelRecord):
            is_new = self._label(run, record)
            self._report.labels += is_new
        elif isinstance(record, EvaluationRecord):
            is_new = _verdict(run, record)
            self._report.verdicts += is_new
        else:
            is_new = self._adjudication(run, record)
            self._report.adjudications += is_new
        return is_new

    def _label(self, run: Run, record: LabelRecord) -> bool:
        labels = Label.objects.filter(item__study__name=self._study, item__run=run)
        items = StudyItem.objects.filter(study__name=self._study, run=run)
        was_closed = items.exclude(status=StudyItem.Status.OPEN).exists() and not _is_told(items)
        before = labels.count()
        if record.failure_step is not None and record.failure_step >= max(run.n_steps, 1):
            raise RowError("failure_step", f"the run has {run.n_steps} steps, from 0")
        _raise_first(store_labels(run=run, records=[record]))
        is_new = labels.count() > before
        if is_new and was_closed and run.pk not in self._touched:
            raise RowError("run_id", CLOSED)
        if is_new:
            self._touched.add(run.pk)
        return is_new

    def _adjudication(self, run: Run, record: AdjudicationRecord) -> bool:
        verdicts = ReferenceVerdict.objects.filter(run=run, item__study__name=self._study)
        before = verdicts.count()
        _raise_first(store_adjudications(run=run, records=[record]))
        is_new = verdicts.count() > before
        if is_new:
            self._touched.add(run.pk)
        return is_new


def _is_told(items: QuerySet[StudyItem]) -> bool:
    """Whether the verdict came as a row: labels may follow it then, as they change nothing."""
    return ReferenceVerdict.objects.filter(item__in=items).exclude(record={}).exists()


def _verdict(run: Run, record: EvaluationRecord) -> bool:
    before = set(Evaluation.objects.filter(run=run).values_list("pk", flat=True))
    _raise_first(store_evaluations(run=run, records=[record]))
    stored = Evaluation.objects.filter(run=run).exclude(pk__in=before).first()
    if stored and not stored.is_current:
        raise RowError("evaluator", OTHER_VERDICT)
    return stored is not None


def _raise_first(faults: Iterator[Fault]) -> None:
    for fault in faults:
        raise RowError(fault.field, fault.reason)


def _close(study: str, report: LabelReport) -> None:
    """Settle what was agreed on and open disputes, once every label is there.

    Until then nobody knows how many labels a run of this study has.
    """
    items = StudyItem.objects.filter(study__name=study)
    for item in items.filter(status=StudyItem.Status.OPEN).select_related("study"):
        close_if_complete(item=item, needed=item.study.labels_per_run, now=timezone.now())
        item.save(update_fields=["status"])
    report.settled = items.filter(status=StudyItem.Status.SETTLED).count()
    report.disputed = items.filter(status=StudyItem.Status.DISPUTED).count()
    report.waiting = items.filter(status=StudyItem.Status.OPEN).count()
