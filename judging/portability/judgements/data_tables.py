"""The tables that can be taken away as data, of a study or of any runs.

What each column means stands in `table_columns`; a test holds docs/exporting.md to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.figures_tables import figures_table, matrices_table
from judging.analysis.reports import Table
from judging.models import Study, StudyItem
from judging.portability.judgements.label_tables import (
    evaluation_rows,
    label_rows,
    reference_rows,
    run_rows,
)
from judging.portability.judgements.table_columns import (
    EVALUATIONS,
    FIGURES,
    LABELS,
    MATRICES,
    REFERENCE_VERDICTS,
    RUNS,
    DataColumn,
)
from judging.studies.blinding import items_with_open_labels
from runs.models import Run, User

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What may be told, to whoever asks."""

    runs: QuerySet[Run]
    items: QuerySet[StudyItem]
    """Whose reference verdicts are told."""
    labelled: QuerySet[StudyItem]
    """Whose labels are told."""
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
    tells_judgements: bool = True
    """Whether it tells of single runs what people or evaluators said."""


def everything_of(study: Study) -> Contents:
    """All there is of a study, for commands."""
    items = StudyItem.objects.filter(study=study)
    return Contents(
        runs=Run.objects.filter(study_items__study=study), items=items, labelled=items, study=study
    )


def study_contents_for(user: User, study: Study) -> Contents:
    """What somebody may take away who may read the audit of the study.

    Labels open as they do on pages: not before all of a run are there.
    """
    whole = everything_of(study)
    labelled = items_with_open_labels(user).filter(study=study)
    return Contents(runs=whole.runs, items=whole.items, labelled=labelled, study=study)


def run_contents(runs: QuerySet[Run]) -> Contents:
    """What is known of these runs, in whatever study."""
    ids = runs.order_by().values("pk")
    items = StudyItem.objects.filter(run__in=ids)
    # Without the annotations that the runs were chosen by.
    return Contents(runs=Run.objects.filter(pk__in=ids), items=items, labelled=items.none())


def _figures_of(table: Callable[[Study], Table]) -> Callable[[Contents], Iterator[Row]]:
    def rows(contents: Contents) -> Iterator[Row]:
        if contents.study is None:
            return
        found = table(contents.study)
        keys = [column.key for column in found.columns]
        yield from (dict(zip(keys, map(_plain, row), strict=True)) for row in found.rows)

    return rows


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, int | float) else str(value)


DATA_TABLES: Mapping[str, DataTable] = {
    table.name: table
    for table in (
        DataTable(
            name="labels",
            title=_("Labels"),
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
            tells_judgements=False,
        ),
        DataTable(
            name="matrices",
            title=_("Matrices"),
            columns=MATRICES,
            rows=_figures_of(matrices_table),
            of_study=True,
            tells_judgements=False,
        ),
        DataTable(
            name="figures",
            title=_("Figures"),
            columns=FIGURES,
            rows=_figures_of(figures_table),
            of_study=True,
            tells_judgements=False,
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
