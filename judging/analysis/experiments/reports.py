"""The reports of an experiment, in the order of documents. A new figure is an entry here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments import comparison, controls
from judging.analysis.experiments import course_reports as course
from judging.analysis.experiments import outcome_reports as outcomes
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.pictures import QUESTIONS, shown_pictures
from judging.analysis.experiments.population import RunResult, Scope
from judging.analysis.failure_modes.sources import ModeSource, definitions, unexamined
from judging.analysis.hint_effects.reports import HINTS
from judging.analysis.miniwob import reports as miniwob
from judging.analysis.miniwob.causes import PUBLISHED_CAUSES, causes, causes_of
from judging.analysis.miniwob.figures import is_suite
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.progress.rows import Progressed
from judging.analysis.progress.sources import Missing
from judging.analysis.reports.registry import Entry, Registry, html_tables
from judging.analysis.reports.report import Report, Words
from judging.analysis.reports.writing import write_document
from runs.models import Experiment, Task

EXPERIMENT: Registry[Facts] = Registry(
    {
        "configurations": Entry(QUESTIONS["accuracy"], outcomes.configurations),
        "groups": Entry(_("Where does it succeed?"), outcomes.groups),
        "recovery": Entry(QUESTIONS["detections"], course.recovery),
        "detections": Entry(capfirst(_("anomalies noticed")), course.detections),
        "loops": Entry(_("Loops by comparison of steps"), course.loops),
        "lengths": Entry(QUESTIONS["lengths"], course.lengths),
        "modes": Entry(_("How do runs fail?"), course.modes),
        "endings": Entry(_("How do runs end?"), course.endings),
        "trials": Entry(QUESTIONS["trials"], outcomes.trials),
        "pairs": Entry(_("What does one solve that another does not?"), comparison.pairs),
        "controls": Entry(
            _("What do evaluators let through for agents that solve nothing?"), controls.controls
        ),
        "infrastructure": Entry(_("How often did the infrastructure fail?"), course.infrastructure),
        "miniwob": Entry(_("How well is MiniWoB++ solved?"), miniwob.rates),
        "miniwob_steps": Entry(
            _("MiniWoB++: one-step and many-step tasks"), miniwob.rates_by_steps
        ),
        "miniwob_tasks": Entry(_("MiniWoB++: tasks"), miniwob.tasks),
        "miniwob_excluded": Entry(_("MiniWoB++: tasks left out"), miniwob.excluded),
        "miniwob_causes": Entry(_("What fails on MiniWoB++: seeing or reasoning?"), causes),
        "runs": Entry(_("Runs"), course.runs, lists_runs=True),
    }
)


def registry_of(name: str) -> tuple[Registry[Facts], str] | None:
    """The registry of a file's name, and the report's name there; None where there is none."""
    for registry in (EXPERIMENT, PROGRESS, HINTS):
        key = name.removeprefix(registry.prefix)
        if name.startswith(registry.prefix) and key in registry:
            return registry, key
    return None


def document(facts: Facts, ending: str) -> str:
    """All reports that have rows as one text.

    Raises ValueError for CSV, of which a file holds one table only.
    """
    made = [report for report in EXPERIMENT.for_document(facts) if report.rows]
    words = {"experiment": facts.experiment.name, "source": facts.source.name}
    return write_document(gettext("%(experiment)s by %(source)s") % words, made, ending)


Query = Mapping[str, str]
OF_SUITE = "miniwob"
"""How the names of reports and sections of MiniWoB++ begin."""


class Section(NamedTuple):
    """A section: what it asks, and the names of its reports and its picture, if it has them."""

    title: Words
    reports: Sequence[str] = ()
    picture: str = ""
    template: str = "_report_section"
    more: Callable[[Facts, Query], dict[str, Any]] | None = None
    is_result: bool = False
    """Whether it stands on the page; the others are opened by their questions."""

    def context(self, facts: Facts, query: Query) -> dict[str, Any]:
        context: dict[str, Any] = {"title": self.title}
        made = [EXPERIMENT.make(name, facts) for name in self.reports]
        empty = made[0].empty if made else ""
        if made:
            tables = [] if empty else [table for each in made for table in html_tables(each)]
            context |= {"report": made[0], "tables": tables}
        if self.picture and not empty:
            context["pictures"] = shown_pictures(facts, self.picture)
        return context | (self.more(facts, query) if self.more else {})


def _pairs(facts: Facts, query: Query) -> dict[str, Any]:
    return comparison.pairs_section(facts, (query.get("first"), query.get("second")))


def _trials(facts: Facts, query: Query) -> dict[str, Any]:
    others = [each for each in facts.verdict_menu if each[0] != facts.source.key]
    return {"pickers": [("", gettext("none")), *others]}


def _failures(facts: Facts, query: Query) -> dict[str, Any]:
    failures = facts.scope.standing(facts.source).filter(standing=RunResult.FAILURE)
    return {
        "sources": dict(ModeSource.choices),
        "chosen_source": facts.query.modes_by,
        "definitions": definitions(),
        "unexamined": unexamined(failures).count(),
        "unexamined_url": facts.url(standing=RunResult.FAILURE, mode="unknown", by="mechanical"),
        "failures_url": facts.url(standing=RunResult.FAILURE),
    }


def _progress(facts: Facts, query: Query) -> dict[str, Any]:
    report = _NO_PROGRESS
    if facts.progress_choices:
        report = replace(PROGRESS.make("configurations", facts), counts=[_covered(facts)])
    return {
        "report": report,
        "tables": [] if report.empty else html_tables(report),
        "whole": reverse("judging:experiment_progress_rates", args=[facts.experiment.pk]),
        "tasks_url": _tasks_url(facts),
    }


def _covered(facts: Facts) -> str:
    """On how many runs the figures of progress are, and why the others are left out."""
    found = Progressed(facts.rows)
    whole = gettext(
        "Verdicts: %(source)s. Runs with both a verdict and progress: %(n)s of %(total)s."
    )
    words = [whole % {"source": facts.source.name, "n": found.n, "total": found.runs}]
    left_out = {str(each.label): found.missing[each] for each in Missing}
    left_out[gettext("no verdict")] = found.undecided
    words += [
        gettext("Left out: %(n)s, %(why)s.") % {"n": n, "why": why}
        for why, n in left_out.items()
        if n
    ]
    return " ".join(words)


_NO_PROGRESS = Report(
    columns=[],
    rows=[],
    empty=_(
        "Give the tasks milestones on their pages, then have the runs evaluated by "
        "milestones-mechanical or milestones-judge, or label them in a study with milestones."
    ),
)


def _tasks_url(facts: Facts) -> str:
    """The list of tasks, of the sets that this is about: their milestones are written there."""
    shown = {each.task for each in facts.figures.sums if each.standing is not RunResult.HIDDEN}
    sets = Task.objects.filter(pk__among=shown).order_by("task_set").values_list("task_set")
    query = urlencode([("task_set", pk) for (pk,) in sets.distinct()])
    return f"{reverse('runs:task_list')}?{query}"


def _controls(facts: Facts, query: Query) -> dict[str, Any]:
    return {"own": Experiment.objects.filter(name=controls.controls_name(facts.experiment)).first()}


def _miniwob_causes(facts: Facts, query: Query) -> dict[str, Any]:
    return {"samples": causes_of(facts.scope), "published": PUBLISHED_CAUSES}


def _section(*reports: str, **more: Any) -> Section:
    """A section of these reports, which asks what the first of them asks."""
    return Section(EXPERIMENT.entries[reports[0]].words, reports, **more)


_OWN = "experiments/_experiment_{}"
SECTIONS: Mapping[str, Section] = {
    "accuracy": Section(
        QUESTIONS["accuracy"], picture="accuracy", template=_OWN.format("accuracy"), is_result=True
    ),
    "miniwob": _section("miniwob", "miniwob_steps", "miniwob_tasks", "miniwob_excluded"),
    "miniwob_causes": Section(
        EXPERIMENT.entries["miniwob_causes"].words,
        template=_OWN.format("miniwob_causes"),
        more=_miniwob_causes,
    ),
    "groups": _section("groups", is_result=True),
    "progress": Section(
        _("How far do runs get?"),
        template=_OWN.format("progress_rates"),
        more=_progress,
        is_result=True,
    ),
    "pairs": _section("pairs", template=_OWN.format("pairs"), more=_pairs, is_result=True),
    "recovery": _section("recovery", "loops", picture="detections"),
    "trials": _section("trials", picture="trials", template=_OWN.format("trials"), more=_trials),
    "lengths": _section("lengths", picture="lengths"),
    "failures": _section("modes", template=_OWN.format("failures"), more=_failures),
    "endings": _section("endings"),
    "controls": _section("controls", template=_OWN.format("controls"), more=_controls),
    "infrastructure": _section("infrastructure"),
}
"""By name in the address, in the page's order."""


def shown_for(scope: Scope) -> dict[str, Any]:
    """The sections and reports that have something to say of the experiment."""
    left_out = "/" if is_suite(scope) else OF_SUITE  # no name begins with a slash
    every: Mapping[str, Mapping[str, object]] = {"sections": SECTIONS, "tables": EXPERIMENT.names}
    return {
        key: {name: each for name, each in found.items() if not name.startswith(left_out)}
        for key, found in every.items()
    }
