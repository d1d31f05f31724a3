"""The reports of an audit, in the order of documents. A new table is an entry here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.comparing.evaluator_reports import pairs, steps
from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.failure_modes import failure_modes
from judging.analysis.audits.figures import QUESTIONS, corrected, draw, figures, matrices
from judging.analysis.audits.people.reports import agreement, detectors, people
from judging.analysis.audits.population import LEFT_OUT
from judging.analysis.audits.repairs import repairs
from judging.analysis.audits.verdict_sources import stubs_of
from judging.analysis.audits.verdicts import verdicts
from judging.analysis.causes.reports import causes, success_rates, tagged_errors
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Column, Report, Value
from judging.analysis.reports.writing import write, write_document
from judging.models import Guideline
from runs.models.parsing import QueryError


def protocol(facts: AuditFacts) -> Report:
    """What must be known of the study to read the other reports."""
    study, population = facts.study, facts.audit.population
    guideline = Guideline.objects.filter(study=study).order_by("-version").first()
    rows: list[list[Value]] = [
        ["counted", gettext("runs with a reference verdict"), population.runs],
        ["successes", gettext("of them successes"), population.references.successes],
        ["failures", gettext("of them failures"), population.references.failures],
        ["labels_per_run", gettext("labels per run"), study.labels_per_run],
        ["sample_seed", gettext("seed of the sample"), study.sample_seed],
        [
            "guideline",
            gettext("version of the guidelines"),
            guideline.version if guideline else None,
        ],
    ]
    rows += [
        [f"left_out_{group}", gettext("left out: %(why)s") % {"why": why}, population.groups[group]]
        for group, why in LEFT_OUT.items()
        if population.groups.get(group)
    ]
    if stubs := stubs_of(study):
        names = ", ".join(map(str, stubs))
        rows.append(["stubs", gettext("answered by a stub"), names])
    columns = [Column("key", _("key")), Column("what", _("what")), Column("value", _("value"))]
    return Report(columns=columns, rows=rows)


AUDIT: Registry[AuditFacts] = Registry(
    {
        "matrices": Entry(_("Matrices"), matrices),
        "figures": Entry(_("Figures"), figures),
        "repairs": Entry(_("What would repair them?"), repairs),
        "corrected": Entry(capfirst(_("runs without a reference verdict")), corrected),
        "agreement": Entry(capfirst(_("agreement")), agreement),
        "pairs": Entry(_("Compare evaluators"), pairs),
        "steps": Entry(_("What steps add"), steps),
        "people": Entry(_("Against annotators"), people),
        "triangle": Entry(_("All verdicts"), verdicts, True),
        "causes": Entry(_("Causes of errors"), causes),
        "success_rates": Entry(_("Success rates if repaired"), success_rates),
        "tagged_errors": Entry(_("Tagged errors"), tagged_errors, True),
        "detectors": Entry(_("Detectors of anomalies"), detectors),
        "failure_modes": Entry(capfirst(_("failure modes")), failure_modes),
    }
)
"""Pages, downloads, the API and the command then have it."""
BY_SPLIT = ("protocol", "matrices", "figures", "corrected")
"""Those that can be of one split of the tasks."""


def check_split(facts: AuditFacts, name: str) -> None:
    """Raises QueryError where a split is asked of a report that is of all tasks alone."""
    if facts.query.split and name not in BY_SPLIT:
        raise QueryError("split", gettext("Only matrices, figures and rates can be of one split."))


_WHOLE: Registry[AuditFacts] = Registry(
    {"protocol": Entry(_("Protocol"), protocol)} | dict(AUDIT.entries)
)
"""What a document and a folder of files hold."""


def document(facts: AuditFacts, ending: str) -> str:
    """The audit as one text, without the reports with a row a run.

    Raises ValueError for CSV, of which a file holds one table only.
    """
    made = _WHOLE.for_document(facts)
    if facts.query.split:
        made = [report for report in made if report.name in BY_SPLIT]
    return _document(facts, made, ending)


def _document(facts: AuditFacts, made: Sequence[Report], ending: str) -> str:
    return write_document(facts.title(gettext("audit of the evaluators")), made, ending)


def report_files(facts: AuditFacts, ending: str) -> Iterator[tuple[Path, str]]:
    """All files of the audit: one for each report, those with a row a run too, and the pictures.

    All but CSV come with the whole document beside them.
    """
    made = {name: _WHOLE.make(name, facts) for name in _WHOLE.entries}
    for name, report in made.items():
        yield Path(f"{name}.{ending}"), write(report, ending)
    if ending != "csv":
        whole = [made[name] for name, entry in _WHOLE.entries.items() if not entry.lists_runs]
        yield Path(f"report.{ending}"), _document(facts, whole, ending)
    for key in QUESTIONS if facts.audit.speaking else ():
        yield Path("pictures") / f"{key}.svg", str(draw(facts.audit, key, facts.resampled))
