"""Everything that the audit of a study shows, as one document or as a folder of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.causes_tables import causes_table, success_rates_table, tags_table
from judging.analysis.audits.comparison_reports import pairs_table, people_table, steps_table
from judging.analysis.audits.detectors import detectors_table
from judging.analysis.audits.evaluators import stubs_of
from judging.analysis.audits.failure_modes import failure_modes_report
from judging.analysis.audits.figures_tables import (
    agreement_table,
    corrected_table,
    figures_table,
    matrices_table,
)
from judging.analysis.audits.matrices import audit_of
from judging.analysis.audits.page import LEFT_OUT, QUESTIONS, draw
from judging.analysis.audits.population import population_of
from judging.analysis.audits.resampling import resampled
from judging.analysis.audits.triangle_tables import triangle_table
from judging.analysis.reports.report import Column, Report, Value
from judging.analysis.reports.writing import write, write_document
from judging.models import Guideline, Study


def protocol_table(study: Study) -> Report:
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
    return Report(name="protocol", title=title, columns=columns, rows=rows)


def whole_report(study: Study, ending: str) -> str:
    """The report as one text, without the tables of single runs.

    Raises:
        ValueError: for CSV, of which a file holds one table only.
    """
    tables = [write(study) for name, write in TABLES.items() if name not in PER_RUN]
    return _document(study, [protocol_table(study), *tables], ending)


def _document(study: Study, tables: Sequence[Report], ending: str) -> str:
    title = _("%(study)s: audit of the evaluators") % {"study": study.name}
    return write_document(title, tables, ending)


def report_files(study: Study, ending: str) -> Iterator[tuple[Path, str]]:
    """All files of the report: a table each, those of single runs too, and the pictures.

    All but CSV come with the whole document beside them.
    """
    tables = {"protocol": protocol_table(study)}
    tables |= {name: write(study) for name, write in TABLES.items()}
    for name, table in tables.items():
        yield Path(f"{name}.{ending}"), write(table, ending)
    if ending != "csv":
        whole = [table for name, table in tables.items() if name not in PER_RUN]
        yield Path(f"report.{ending}"), _document(study, whole, ending)
    audit = audit_of(study)
    if audit.speaking:
        intervals = resampled(audit)
        for key in QUESTIONS:
            yield Path("pictures") / f"{key}.svg", str(draw(audit, key, intervals).picture)


TABLES: Mapping[str, Callable[[Study], Report]] = {
    "matrices": matrices_table,
    "figures": figures_table,
    "corrected": corrected_table,
    "agreement": agreement_table,
    "pairs": pairs_table,
    "steps": steps_table,
    "people": people_table,
    "triangle": triangle_table,
    "causes": causes_table,
    "success_rates": success_rates_table,
    "tagged_errors": tags_table,
    "detectors": detectors_table,
    "failure_modes": failure_modes_report,
}
"""By the name in their address. A new table is an entry here: pages, downloads and the report
then have it."""
PER_RUN = frozenset({"triangle", "tagged_errors"})
"""Tables with a row a run, too long for a document."""
TABLE_NAMES: Mapping[str, Promise] = {
    "matrices": gettext_lazy("Matrices"),
    "figures": gettext_lazy("Figures"),
    "corrected": gettext_lazy("Runs without a reference verdict"),
    "agreement": gettext_lazy("Agreement"),
    "pairs": gettext_lazy("Evaluators compared"),
    "steps": gettext_lazy("What steps add"),
    "people": gettext_lazy("Against annotators"),
    "triangle": gettext_lazy("All verdicts"),
    "causes": gettext_lazy("Causes of errors"),
    "success_rates": gettext_lazy("Success rates if repaired"),
    "tagged_errors": gettext_lazy("Tagged errors"),
    "detectors": gettext_lazy("Detectors of anomalies"),
    "failure_modes": gettext_lazy("Failure modes"),
}
"""The same for people."""
