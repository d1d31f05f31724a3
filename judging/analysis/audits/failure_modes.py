"""How the failures of a study failed, going by the reference verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.population import FAILURE, counted_items
from judging.analysis.experiments.figures import configuration_names
from judging.analysis.failure_modes.shares import confirmed, modes_of_runs, modes_report
from judging.analysis.failure_modes.sources import ModeSource, mode_words, showing
from judging.analysis.reports.report import Report
from judging.models import Study
from runs.models import AgentConfiguration, Run
from runs.models.parsing import read_number
from webagent.trajectory.verdict_records import Mode


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
        return FailureSelection({"agent": str(pk), "mode": mode, "by": by.value}).url(study)

    report = modes_report(runs, names, confirmed(failures_of(study)), chosen, link)
    note = _("Success is what people agreed on or adjudicated.")
    return replace(report, notes=[note, *report.notes])


@dataclass(frozen=True, slots=True)
class FailureSelection:
    """Some failures of a study: `agent`, `mode` and `by`, as an address names them."""

    chosen: Mapping[str, str]

    @property
    def query(self) -> str:
        return urlencode(self.chosen)

    def chips(self, study: Study) -> list[tuple[str, str]]:
        """What is chosen in words, and the query without it."""
        found = []
        for key in self.chosen:
            rest = {name: value for name, value in self.chosen.items() if name != key}
            found.append((self._words(key, study), urlencode(rest)))
        return found

    def url(self, study: Study) -> str:
        return f"{reverse('judging:audit_failure_runs', args=[study.pk])}?{self.query}"

    def runs(self, study: Study) -> QuerySet[Any]:
        """The runs; with the environment's also those that ended in its errors."""
        runs = failures_of(study)
        mode = self.chosen.get("mode")
        if mode == Mode.ENVIRONMENT:
            of_either = Q(pk__in=runs.values("pk")) | Q(pk__in=errors_of(study).values("pk"))
            runs = Run.objects.filter(of_either)
        if "agent" in self.chosen:
            runs = runs.filter(agent=self.chosen["agent"])
        if mode:
            runs = showing(runs, mode, ModeSource(self.chosen.get("by", ModeSource.KNOWN)))
        listed: QuerySet[Any] = runs.select_related("task", "agent")
        return listed.order_by("task__external_id", "agent", "trial", "pk")

    def _words(self, key: str, study: Study) -> str:
        value = self.chosen[key]
        if key == "mode":
            return mode_words(value)
        if key == "by":
            return str(ModeSource(value).label)
        # Only agents that acted here are named: others may be hidden from the reader.
        agents = AgentConfiguration.objects.filter(runs__study_items__study=study, pk=value)
        return str(agents.first() or value)


def read_selection(query: Mapping[str, str]) -> FailureSelection:
    """The selection of an address. Raises ValueError where a value is none that runs could have."""
    chosen = {key: query[key] for key in ("agent", "mode", "by") if key in query}
    if "agent" in chosen and read_number(chosen["agent"]) is None:
        raise ValueError(f"{chosen['agent']} is no number")
    if "mode" in chosen:
        mode_words(chosen["mode"])
    if "by" in chosen:
        ModeSource(chosen["by"])
    return FailureSelection(chosen)
