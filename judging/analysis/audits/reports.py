"""The reports of an audit, in the order of documents. A new table is an entry here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.comparing.evaluator_reports import pairs, steps
from judging.analysis.audits.facts import EVALUATOR, NUMBER, RUN, TASK, AuditFacts
from judging.analysis.audits.figures import QUESTIONS, corrected, draw, figures, matrices
from judging.analysis.audits.people.reports import agreement, detectors, people
from judging.analysis.audits.population import (
    FAILURE,
    Shown,
    counted_items,
    items_in_cells,
    unknown_split,
)
from judging.analysis.audits.repairs import repairs
from judging.analysis.audits.verdict_sources import stubs_of
from judging.analysis.audits.verdicts import verdicts
from judging.analysis.causes.tags import TAGGED, CauseAudit, Counted, with_tags
from judging.analysis.experiments.figures import configuration_names
from judging.analysis.failure_modes.shares import confirmed, modes_of_runs, modes_report
from judging.analysis.failure_modes.sources import ModeSource
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Column, Report, Value, plain, rows_of, share
from judging.analysis.reports.writing import write, write_document
from judging.models import Guideline, Study
from runs.models import AgentConfiguration, Run
from runs.models.parsing import QueryError


def protocol(facts: AuditFacts) -> Report:
    """What must be known of the study to read the other reports."""
    study, population = facts.study, facts.population
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
        [f"left_out_{group}", gettext("left out: %(why)s") % {"why": why}, n]
        for group, why, n in population.left_out
    ]
    if stubs := stubs_of(study):
        names = ", ".join(map(str, stubs))
        rows.append(["stubs", gettext("answered by a stub"), names])
    columns = [Column("key", _("key")), Column("what", _("what")), Column("value", _("value"))]
    return Report(columns=columns, rows=rows)


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
    fields = [
        *(NUMBER, RUN, TASK),
        plain("error", _("error"), "cell"),
        (Column("causes", _("causes")), lambda item: ", ".join(item.tag_causes or [])),
        plain("repair", _("repair"), "tag_repair"),
        plain("note", _("note"), "tag_note"),
    ]
    rows: list[list[Any]] = []
    for each in facts.causes:
        evaluator = each.audit.evaluator
        items = items_in_cells(facts.study, evaluator, [Shown.FN, Shown.FP])
        of_evaluator = rows_of(with_tags(items, evaluator, TAGGED), fields)
        rows += [[evaluator, *row] for row in of_evaluator]
    return Report(columns=[EVALUATOR, *(column for column, _value_of in fields)], rows=rows)


def failures_of(study: Study) -> QuerySet[Any]:
    """The runs that count and that people found to be failures."""
    items = counted_items(study).filter(verdict__verdict=FAILURE)
    return Run.objects.filter(pk__in=items.order_by().values("run")).order_by()


def errors_of(study: Study) -> QuerySet[Any]:
    """Runs of the study that ended in an error and that nobody found to be a failure."""
    ended = Run.objects.filter(study_items__study=study, outcome=Run.Outcome.ERROR)
    return ended.exclude(pk__in=failures_of(study).values("pk")).order_by()


def failure_modes(facts: AuditFacts, chosen: ModeSource = ModeSource.KNOWN) -> Report:
    """One row a configuration, source and mode; a page shows those of one source."""
    study = facts.study
    runs = modes_of_runs(failures_of(study), errors_of(study))
    agents = AgentConfiguration.objects.filter(pk__in={run.agent for run in runs})
    names = dict(sorted(configuration_names(agents).items(), key=lambda each: each[1]))

    def link(pk: int, mode: str, by: ModeSource) -> str:
        query = urlencode({"agent": str(pk), "mode": mode, "by": by.value})
        return f"{reverse('judging:audit_failure_runs', args=[study.pk])}?{query}"

    report = modes_report(runs, names, confirmed(failures_of(study)), chosen, link)
    note = gettext("Success is what people agreed on or adjudicated.")
    return replace(report, notes=[note, *report.notes])


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
        "causes": Entry(capfirst(_("causes")), causes),
        "success_rates": Entry(_("Success rates if repaired"), success_rates),
        "tagged_errors": Entry(_("Tagged errors"), tagged_errors, True),
        "detectors": Entry(_("Detectors"), detectors),
        "failure_modes": Entry(capfirst(_("failure modes")), failure_modes),
    }
)
BY_SPLIT = ("protocol", "matrices", "figures", "corrected")
"""Those that can be of one split of the tasks."""


def check_split(facts: AuditFacts, name: str) -> None:
    """Raises QueryError where a split is asked of a report that is of all tasks alone."""
    if facts.query.split and name not in BY_SPLIT:
        raise QueryError("split", gettext("Only matrices, figures and rates can be of one split."))


def check_known_split(study: Study, split: str) -> None:
    """Raises QueryError where no task of the study is of that split: for files, which cannot say
    it beside their figures as pages do.
    """
    if unknown_split(study, split):
        words = gettext("No task of this study has the split “%(name)s”.")
        raise QueryError("split", words % {"name": split})


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
    for key in QUESTIONS if facts.speaking else ():
        yield Path("pictures") / f"{key}.svg", str(draw(facts, key))
