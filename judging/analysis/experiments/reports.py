"""The reports of an experiment, in the order of documents. A new figure is an entry here."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments import course_reports as course
from judging.analysis.experiments import outcome_reports as outcomes
from judging.analysis.experiments.facts import Facts
from judging.analysis.hint_effects.reports import HINTS
from judging.analysis.miniwob import reports as miniwob
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.writing import write_document

EXPERIMENT: Registry[Facts] = Registry(
    {
        "configurations": Entry(_("Configurations"), outcomes.configurations),
        "groups": Entry(_("Sites, templates, levels, kinds"), outcomes.groups),
        "recovery": Entry(_("Recovery"), course.recovery),
        "detections": Entry(_("Anomalies noticed"), course.detections),
        "lengths": Entry(_("Number of steps"), course.lengths),
        "modes": Entry(_("Failure modes"), course.modes),
        "endings": Entry(_("End reasons"), course.endings),
        "trials": Entry(_("Several trials"), outcomes.trials),
        "pairs": Entry(_("Configurations in pairs"), outcomes.pairs),
        "controls": Entry(_("Controls"), outcomes.controls),
        "infrastructure": Entry(_("Infrastructure errors"), course.infrastructure),
        "miniwob": Entry(_("MiniWoB++: success rates"), miniwob.rates),
        "miniwob_steps": Entry(
            _("MiniWoB++: one-step and many-step tasks"), miniwob.rates_by_steps
        ),
        "miniwob_tasks": Entry(_("MiniWoB++: tasks"), miniwob.tasks),
        "miniwob_excluded": Entry(_("MiniWoB++: tasks left out"), miniwob.excluded),
        "miniwob_causes": Entry(_("MiniWoB++: what failed"), miniwob.causes),
        "runs": Entry(_("Runs"), course.runs, lists_runs=True),
    }
)


REGISTRIES: Sequence[Registry[Facts]] = (EXPERIMENT, PROGRESS, HINTS)


def registry_of(name: str) -> tuple[Registry[Facts], str] | None:
    """The registry of a file's name, and the report's name there; None where there is none."""
    for registry in REGISTRIES:
        key = name.removeprefix(registry.prefix)
        if name.startswith(registry.prefix) and key in registry:
            return registry, key
    return None


def document_title(facts: Facts) -> str:
    """The title of all reports together."""
    return gettext("%(experiment)s by %(source)s") % {
        "experiment": facts.experiment.name,
        "source": facts.source.name,
    }


def document(facts: Facts, ending: str) -> str:
    """All reports that have rows as one text.

    Raises:
        ValueError: for CSV, of which a file holds one table only.
    """
    made = [report for report in EXPERIMENT.for_document(facts) if report.rows]
    return write_document(document_title(facts), made, ending)
