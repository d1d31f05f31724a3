"""Everything that the audit of a study shows, as one document or as a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from django.utils.translation import gettext as _

from judging.analysis.audits.matrices import audit_of
from judging.analysis.audits.page import LEFT_OUT, QUESTIONS, draw
from judging.analysis.audits.population import population_of
from judging.analysis.audits.resampling import resampled
from judging.analysis.audits.stubs import stubs_of
from judging.analysis.audits.tables import PER_RUN, TABLES
from judging.analysis.reports import FORMATS, Column, Table, Value, write_json_of, write_tables
from judging.models import Guideline, Study

ENDINGS: Mapping[str, str] = {"csv": "csv", "json": "json", "markdown": "md", "latex": "tex"}
"""Endings of files by the name of their format."""


def protocol_table(study: Study) -> Table:
    """What must be known of the study to read the other tables."""
    population = population_of(study)
    guideline = Guideline.objects.filter(study=study).order_by("-version").first()
    rows: list[list[Value]] = [
        ["counted", _("runs with a reference verdict"), population.runs],
        ["successes", _("of them successes"), population.references.successes],
        ["failures", _("of them failures"), population.references.failures],
        ["labels_per_run", _("labels per run"), study.labels_per_run],
        ["sample_seed", _("seed of the sample"), study.sample_seed],
        ["guideline", _("version of the guidelines"), guideline.version if guideline else None],
    ]
    rows += [
        [f"left_out_{group}", _("left out: %(why)s") % {"why": why}, population.groups[group]]
        for group, why in LEFT_OUT.items()
        if population.groups.get(group)
    ]
    if stubs := stubs_of(study):
        names = ", ".join(map(str, stubs))
        rows.append(["stubs", _("answered by a stub of fixed rules, no model"), names])
    columns = [Column("key", _("key")), Column("what", _("what")), Column("value", _("value"))]
    title = _("%(study)s: protocol and population") % {"study": study.name}
    return Table(name="protocol", title=title, columns=columns, rows=rows)


def whole_report(study: Study, ending: str) -> str:
    """The report as one text, without the tables of single runs.

    Raises:
        ValueError: for CSV, of which a file holds one table only.
    """
    if ending == "csv":
        raise ValueError("one CSV file holds one table")
    tables = [write(study) for name, write in TABLES.items() if name not in PER_RUN]
    return _document(study, [protocol_table(study), *tables], ending)


def _document(study: Study, tables: Sequence[Table], ending: str) -> str:
    title = _("%(study)s: audit of the evaluators") % {"study": study.name}
    if ending == "json":
        return write_json_of(title, tables)
    return write_tables(title, tables, ending)


def report_files(study: Study, ending: str) -> Iterator[tuple[Path, str]]:
    """All files of the report: a table each, those of single runs too, and the pictures.

    All but CSV come with the whole document beside them.
    """
    tables = {"protocol": protocol_table(study)}
    tables |= {name: write(study) for name, write in TABLES.items()}
    for name, table in tables.items():
        yield Path(f"{name}.{ending}"), FORMATS[ending].write(table)
    if ending != "csv":
        whole = [table for name, table in tables.items() if name not in PER_RUN]
        yield Path(f"report.{ending}"), _document(study, whole, ending)
    audit = audit_of(study)
    if audit.speaking:
        intervals = resampled(audit)
        for key in QUESTIONS:
            yield Path("pictures") / f"{key}.svg", str(draw(audit, key, intervals).picture)
