"""The tables that can be downloaded, of a study or of any runs, and the files that they become.

What each column means stands in `columns`; a test holds docs/exporting.md to it.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.figures import figures, matrices
from judging.analysis.reports.report import Report
from judging.models import Evaluation, ReferenceVerdict, Study, StudyItem
from judging.portability.judgements.columns import (
    ADJUDICATION,
    EVALUATIONS,
    FIGURES,
    KIND,
    LABELS,
    MATRICES,
    MAYBE,
    REFERENCE_VERDICTS,
    RUN,
    RUNS,
    VERDICT,
    DataColumn,
    speller,
)
from judging.portability.judgements.labels import Row, label_rows
from judging.portability.judgements.verdicts import adjudication_record, evaluation_record
from judging.studies.blinding import items_with_open_labels
from runs.models import Run, User
from webagent.trajectory.canonical import canonical_json
from webagent.trajectory.verdict_records import AdjudicationRecord, EvaluationRecord

AT_ONCE = 500
LARGE = ("record", "evidence", "goal", "final_answer", "task__record", "task__reference")
"""What rows of judgements do not tell of a run, and can be long."""


def reference_rows(items: QuerySet[StudyItem]) -> Iterator[Row]:
    verdicts = (
        ReferenceVerdict.objects.filter(item__in=items.order_by().values("pk"))
        .select_related("item__study", "run__task__task_set", "run__agent", "decided_by")
        .defer(*(f"run__{name}" for name in LARGE))
        .prefetch_related("item__labels")
        .order_by("item__study", "item__position", "pk")
    )
    for verdict in verdicts.iterator(AT_ONCE):
        said = _values(adjudication_record(verdict))
        said |= {"origin": verdict.origin, "is_authoritative": verdict.is_authoritative}
        yield {KIND: ADJUDICATION} | said | _of_run(verdict.run)


def evaluation_rows(runs: QuerySet[Run]) -> Iterator[Row]:
    """All that evaluators said of the runs, superseded verdicts among it."""
    evaluations = (
        Evaluation.objects.filter(run__in=runs.order_by().values("pk"))
        .select_related("run__task__task_set", "run__agent", "evaluator")
        .defer(*(f"run__{name}" for name in LARGE))
        # Of one evaluator's the current one comes last, as it wins on import.
        .order_by("run", "evaluator__config_hash", "is_current", "created_at", "pk")
    )
    for evaluation in evaluations.iterator(AT_ONCE):
        said = _values(evaluation_record(evaluation))
        by = said.pop("evaluator")
        config = by.get("config")
        said |= {
            "evaluator": by["name"],
            "version": by["version"],
            "evaluator_kind": by["kind"],
            "judge_model": evaluation.evaluator.model or None,
            "config_hash": evaluation.evaluator.config_hash,
            "config": config if isinstance(config, dict) else None,
            "is_current": evaluation.is_current,
            "reason": evaluation.reason or None,
            "seconds": evaluation.seconds,
        }
        yield {KIND: VERDICT} | said | _of_run(evaluation.run)


def run_rows(runs: QuerySet[Run]) -> Iterator[Row]:
    found = (
        runs.select_related("task__task_set", "agent", "experiment")
        .defer("record", "evidence", "goal", "task__record", "task__reference")
        .order_by("pk")
    )
    for run in found.iterator(AT_ONCE):
        yield _of_run(run, RUNS)


def _values(record: AdjudicationRecord | EvaluationRecord) -> Row:
    said: Row = json.loads(canonical_json(record))
    return said


def _of_run(run: Run, columns: Sequence[DataColumn] = RUN) -> Row:
    found = {column.name: _value(run, column.path) for column in columns}
    return {name: None if name in MAYBE and value == "" else value for name, value in found.items()}


def _value(row: Any, path: str) -> Any:
    for name in path.split("."):
        row = None if row is None else getattr(row, name)
    if isinstance(row, datetime):
        return row.isoformat()
    return str(row) if isinstance(row, Decimal | UUID) else row


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What of a study or of runs somebody may see."""

    runs: QuerySet[Run]
    items: QuerySet[StudyItem]
    """Whose reference verdicts are open."""
    labelled: QuerySet[StudyItem]
    """Whose labels are open."""
    study: Study | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """One table: its columns, and its rows by column; what a row lacks is unknown."""

    name: str
    title: Promise
    columns: Sequence[DataColumn]
    rows: Callable[[Contents], Iterator[Row]]
    of_study: bool = False
    """Whether only a study has it."""
    has_judgements: bool = True
    """Whether it holds judgements of single runs."""


def everything_of(study: Study) -> Contents:
    """All there is of a study, for commands."""
    items = StudyItem.objects.filter(study=study)
    return Contents(
        runs=Run.objects.filter(study_items__study=study), items=items, labelled=items, study=study
    )


def study_contents_for(user: User, study: Study) -> Contents:
    """What a reader of the study's audit may download.

    Labels open as they do on pages: not before all of a run are there.
    """
    labelled = items_with_open_labels(user).filter(study=study)
    return replace(everything_of(study), labelled=labelled)


def run_contents(runs: QuerySet[Run]) -> Contents:
    """What is known of these runs, in whatever study."""
    ids = runs.order_by().values("pk")
    items = StudyItem.objects.filter(run__in=ids)
    # Without the annotations that the runs were chosen by.
    return Contents(runs=Run.objects.filter(pk__in=ids), items=items, labelled=items.none())


def _figures_of(report: Callable[[AuditFacts], Report]) -> Callable[[Contents], Iterator[Row]]:
    def rows(contents: Contents) -> Iterator[Row]:
        if contents.study is None:
            return
        found = report(AuditFacts(contents.study))
        keys = [column.key for column in found.header]
        yield from (dict(zip(keys, map(_plain, row), strict=True)) for row in found.values)

    return rows


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, int | float) else str(value)


DATA_TABLES: Mapping[str, DataTable] = {
    table.name: table
    for table in (
        DataTable(
            name="labels",
            title=capfirst(_("labels")),
            columns=LABELS,
            rows=lambda contents: label_rows(contents.labelled),
            of_study=True,
        ),
        DataTable(
            name="reference_verdicts",
            title=_("Reference verdicts"),
            columns=REFERENCE_VERDICTS,
            rows=lambda contents: reference_rows(contents.items),
        ),
        DataTable(
            name="evaluations",
            title=_("Evaluations"),
            columns=EVALUATIONS,
            rows=lambda contents: evaluation_rows(contents.runs),
        ),
        DataTable(
            name="runs",
            title=_("Runs"),
            columns=RUNS,
            rows=lambda contents: run_rows(contents.runs),
            has_judgements=False,
        ),
        DataTable(
            name="matrices",
            title=_("Matrices"),
            columns=MATRICES,
            rows=_figures_of(matrices),
            of_study=True,
            has_judgements=False,
        ),
        DataTable(
            name="figures",
            title=_("Figures"),
            columns=FIGURES,
            rows=_figures_of(figures),
            of_study=True,
            has_judgements=False,
        ),
    )
}
"""By the name in their address."""
JUDGEMENTS = DataTable(
    name="judgements",
    title=_("Labels and reference verdicts"),
    columns=tuple({column.name: column for column in (*REFERENCE_VERDICTS, *LABELS)}.values()),
    rows=lambda contents: chain(label_rows(contents.labelled), reference_rows(contents.items)),
    of_study=True,
)
"""Both in one file, which `import_labels` settles in one go."""


class DataFormat(NamedTuple):
    """`writer` names the function: Parquet's library is large, and few processes need it."""

    name: str
    content_type: str
    writer: str

    def write(self, file: BinaryIO, columns: Sequence[DataColumn], rows: Iterable[Row]) -> int:
        """Write all rows; how many there were."""
        n_rows: int = import_string(self.writer)(file, columns, rows)
        return n_rows


DATA_FORMATS: Mapping[str, DataFormat] = {
    "csv": DataFormat("CSV", "text/csv; charset=utf-8", f"{__name__}.write_csv"),
    "jsonl": DataFormat("JSONL", "application/jsonl", f"{__name__}.write_jsonl"),
    "parquet": DataFormat(
        "Parquet",
        "application/vnd.apache.parquet",
        "judging.portability.judgements.table_parquet.write_parquet",
    ),
}
"""By the ending of the file's name."""


def write_csv(file: BinaryIO, columns: Sequence[DataColumn], rows: Iterable[Row]) -> int:
    """RFC 4180 with a header line; no cell is a formula to a spreadsheet."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        table = csv.writer(text)
        table.writerow([column.name for column in columns])
        count = 0
        spellers = [(column.name, speller(column)) for column in columns]
        for row in rows:
            tell = row.get
            table.writerow(
                ["" if (v := tell(name)) is None else spell(v) for name, spell in spellers]
            )
            count += 1
    finally:
        text.detach()  # or the file would be closed with it
    return count


def write_jsonl(file: BinaryIO, columns: Sequence[DataColumn], rows: Iterable[Row]) -> int:
    """An object a line, without what is unknown."""
    count = 0
    for row in rows:
        told = {c.name: row[c.name] for c in columns if row.get(c.name) is not None}
        file.write(json.dumps(told, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        count += 1
    return count
