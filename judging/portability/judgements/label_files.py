"""Labels, verdicts and adjudications of a table, stored as those that come with runs are."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO
from uuid import UUID

from django.db import transaction
from django.db.models import F

from judging.models import ReferenceVerdict, Study, StudyItem
from judging.portability.judgements.columns import KNOWN
from judging.portability.judgements.labels import KnownLabels, store_label
from judging.portability.judgements.row_records import RunsNamed, record_of
from judging.portability.judgements.rows import Row, read_rows
from judging.portability.judgements.stub_runs import StubRuns
from judging.portability.judgements.verdicts import (
    KnownEvaluations,
    close_items,
    closed_before,
    settle,
    store_adjudication,
    store_evaluation,
)
from judging.studies.access import LABELS_IMPORTED, record_unblindings
from judging.studies.imported import Places, account_name, check_study_name
from runs.accounts.audit_log import record_entry
from runs.models import Run, User
from runs.models.visibility import run_policy
from webagent.measures import batched
from webagent.trajectory.intake import InputError, Problem, Rejection
from webagent.trajectory.verdict_records import AdjudicationRecord, EvaluationRecord, LabelRecord

AT_ONCE = 200
"""Rows whose runs are looked up together; then the caller is told how far it is."""
CLOSED = "the run's labels settled it or are disputed in this study already"
OTHER_VERDICT = "another verdict on this run is here already"
MOST_LISTED = 20
"""Bad rows, and columns that are not read, listed one by one."""
MOST_NAMED = 100
"""People and evaluators told by name."""


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
    stubs: int = 0
    """Runs made without their trajectories."""
    bad: int = 0
    unread_from: int = 0
    """The line from which nothing could be read; 0 where all was."""
    listed: list[Problem] = field(default_factory=list)
    most_listed: int = MOST_LISTED
    unread: dict[str, int] = field(default_factory=dict)
    """Columns that nothing is known of, and the line where each was met first."""
    runs: set[UUID] = field(default_factory=set)
    """Of which rows speak that could be stored."""
    people: Counter[str] = field(default_factory=Counter)
    """Rows by the name of who is named there."""
    new_people: set[str] = field(default_factory=set)
    """Those of them for whom an account is made."""
    evaluators: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows by name and version."""

    def refuse(self, bad: Problem) -> None:
        """Count the row, and list it among the first."""
        self.bad += 1
        if isinstance(bad, Rejection):
            self.unread_from = bad.line
        if len(self.listed) < self.most_listed:
            self.listed.append(bad)

    def summary(self) -> dict[str, Any]:
        """Counts of everything, and so much of each list as a page shows."""
        names = ("rows", "labels", "verdicts", "adjudications", "already_there", "bad", "stubs")
        standing = ("unread_from", "settled", "disputed", "waiting")
        return {
            "counts": {name: getattr(self, name) for name in (*names, *standing)}
            | {
                "n_people": len(self.people),
                "n_new_people": len(self.new_people),
                "runs": len(self.runs),
                "n_evaluators": len(self.evaluators),
            },
            "listed": [
                {"line": bad.line, "field": bad.field, "reason": bad.reason} for bad in self.listed
            ],
            "unread": [{"name": name, "line": line} for name, line in self.unread.items()],
            "people": [
                {"name": name, "rows": rows, "is_new": name in self.new_people}
                for name, rows in islice(self.people.items(), MOST_NAMED)
            ],
            "evaluators": [
                {"name": name, "rows": rows, "version": version}
                for (name, version), rows in islice(self.evaluators.items(), MOST_NAMED)
            ],
        }


def import_labels(
    file: BinaryIO,
    *,
    study: str,
    dry_run: bool = False,
    makes_stubs: bool = False,
    user: User | None = None,
    most_listed: int = MOST_LISTED,
    on_rows: Callable[[int], object] | None = None,
) -> LabelReport:
    """Store the rows, all or none; storing them again adds nothing.

    Args:
        makes_stubs: runs that are not here are made as stubs, which their trajectories make whole.
        user: who sent the file, if not who keeps the server. Rows about runs to which they are
        blinded are refused and tell nothing.
        on_rows: called with the number of rows read; an exception undoes everything.

    Raises:
        StudyNameError: the study is kept here by people, or the name is none.
    """
    check_study_name(study, user)
    report = LabelReport(most_listed=most_listed)
    stubs = StubRuns(user) if makes_stubs else None
    with closing(stubs) if stubs else nullcontext(), transaction.atomic():
        importing = _Import(study, report, user, stubs)
        for rows in batched(read_rows(file), AT_ONCE):
            for bad in importing.take(rows):
                report.refuse(bad)
            report.rows += len(rows)
            if on_rows:
                on_rows(report.rows)
        report.stubs = len(stubs.made) if stubs else 0
        if not report.bad:
            _close(study, report)
            about = Study.objects.filter(name=study).first()
            told = f"{report.rows} rows"
            record_entry(LABELS_IMPORTED, about=about, words=study, after=told, user=user)
        if dry_run or report.bad:
            transaction.set_rollback(True)
    if user:
        _record_unblindings(study, report, user)
    return report


def _record_unblindings(study: str, report: LabelReport, user: User) -> None:
    """Record that the sender has seen the file's labels."""
    items = StudyItem.objects.filter(study__name=study)
    for runs in batched(sorted(report.runs), AT_ONCE):
        seen = items.filter(run__in=runs)
        record_unblindings(user=user, items=seen, reason="import of labels")


class _Import:
    """One file on its way in."""

    def __init__(
        self, study: str, report: LabelReport, user: User | None, stubs: StubRuns | None
    ) -> None:
        self._study = study
        self._report = report
        blind = run_policy().blind_runs(user) if user else None
        hidden = frozenset(blind.values_list("pk", flat=True)) if blind is not None else ()
        self._runs = RunsNamed(hidden, stubs)
        self._places, self._labels, self._evaluations = Places(), KnownLabels(), KnownEvaluations()
        self._looked_up: set[UUID] = set()
        self._closed: set[UUID] = set()
        """Runs that labels closed before."""
        self._touched: set[UUID] = set()
        """Runs that got a label or an adjudication from this file."""

    def take(self, rows: Sequence[Row | Problem]) -> Iterator[Problem]:
        """Store the rows; yields those that are refused."""
        found = self._runs.load(row.values for row in rows if isinstance(row, Row))
        self._evaluations.load(found)
        self._labels.load(self._study, found)
        self._places.load(self._study, found)
        self._closed |= closed_before(
            self._study, {run for run in found if run not in self._looked_up}
        )
        self._looked_up |= set(found)
        for row in rows:
            bad = row if isinstance(row, Problem) else self._store(row)
            if bad:
                yield bad
        self._places.count()

    def _store(self, row: Row) -> Problem | None:
        """Store one row; what is wrong with it, if anything is."""
        for name in row.values.keys() - KNOWN:
            if len(self._report.unread) < MOST_LISTED:
                self._report.unread.setdefault(name, row.line)
        try:
            run = self._runs.of(row.values)
            record = record_of(row.values, run, self._study)
            is_new = self._stored(run, record)
        except InputError as error:
            return replace(error.problem(""), line=row.line)
        except OverflowError:
            return Problem("", "", "at", "is out of range", row.line)
        self._report.runs.add(run.pk)
        if not is_new:
            self._report.already_there += 1
        return None

    def _name(self, person: str) -> None:
        """Note a person whom a row names, before the row creates their account."""
        name, report = account_name(person), self._report
        if name not in report.people and not User.objects.filter(username=name).exists():
            report.new_people.add(name)
        report.people[name] += 1

    def _stored(
        self, run: Run, record: LabelRecord | EvaluationRecord | AdjudicationRecord
    ) -> bool:
        if isinstance(record, LabelRecord):
            self._name(record.annotator)
            is_new = self._label(run, record)
            self._report.labels += is_new
        elif isinstance(record, EvaluationRecord):
            self._report.evaluators[record.evaluator.name, record.evaluator.version] += 1
            is_new = self._verdict(run, record)
            self._report.verdicts += is_new
        else:
            if record.by:
                self._name(record.by)
            is_new = self._adjudication(run, record)
            self._report.adjudications += is_new
        return is_new

    def _label(self, run: Run, record: LabelRecord) -> bool:
        if run.pk not in self._looked_up:
            self._looked_up.add(run.pk)
            self._closed |= closed_before(self._study, {run.pk})
        step = record.failure_step
        if step is not None and step >= max(run.n_steps, 1) and not run.is_stub:
            raise InputError("failure_step", f"the run has {run.n_steps} steps, from 0")
        is_new = store_label(run=run, record=record, places=self._places, known=self._labels)
        if is_new and run.pk in self._closed and run.pk not in self._touched:
            raise InputError("run_id", CLOSED)
        if is_new:
            self._touched.add(run.pk)
        return is_new

    def _verdict(self, run: Run, record: EvaluationRecord) -> bool:
        known = self._evaluations
        row = store_evaluation(run=run, record=record, known=known, settled=known.of(run).settled)
        if row and not row.is_current:
            raise InputError("evaluator", OTHER_VERDICT)
        return row is not None

    def _adjudication(self, run: Run, record: AdjudicationRecord) -> bool:
        verdicts = ReferenceVerdict.objects.filter(run=run, item__study__name=self._study)
        before = verdicts.count()
        self._places.count()
        store_adjudication(run=run, record=record, places=self._places)
        settle(run)
        self._places.forget(run)
        is_new = verdicts.count() > before
        if is_new:
            self._touched.add(run.pk)
        return is_new


def _close(study: str, report: LabelReport) -> None:
    """Settle what was agreed on and open disputes, once every label is there.

    Until then nobody knows how many labels a run of this study has.
    """
    items = StudyItem.objects.filter(study__name=study)
    opened = items.filter(status=StudyItem.Status.OPEN, n_labels__gte=F("study__labels_per_run"))
    for keys in batched(opened.order_by("pk").values_list("pk", flat=True), AT_ONCE):
        close_items(list(StudyItem.objects.filter(pk__in=keys)))
    report.settled = items.filter(status=StudyItem.Status.SETTLED).count()
    report.disputed = items.filter(status=StudyItem.Status.DISPUTED).count()
    report.waiting = items.filter(status=StudyItem.Status.OPEN).count()
