"""What stands first on the page of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.http import urlencode

from judging.analysis.audits.triangle_links import Linked
from judging.analysis.experiments.figures import Figures
from judging.analysis.experiments.population import DECIDED, LEFT_OUT, TOLD_LEFT_OUT, RunResult
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.selection import joined, runs_url
from judging.analysis.experiments.sources import Choice
from judging.analysis.gate.reading import command_line
from runs.models.experiments import HINTS_KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationRow:
    """One configuration with the runs behind its numbers."""

    figures: Figures
    decided: Linked
    successes: Linked
    failures: Linked
    undecided: Linked
    left_out: Sequence[tuple[Promise, Linked]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentPage:
    """The source, who is counted and who is not, and a row a configuration."""

    asked: ReportQuery
    choices: Sequence[Choice]
    rows: Sequence[ConfigurationRow]
    undecided: Linked
    left_out: Sequence[tuple[Promise, Linked]]

    @property
    def query(self) -> str:
        """The address of what hangs on the source."""
        return urlencode({"verdict": self.asked.source.key})

    @property
    def gate_command(self) -> str:
        """What holds another experiment against this one in CI, by the same verdicts."""
        return command_line(self.asked.source, str(self.asked.scope.experiment.pk), "…")

    @property
    def has_hints(self) -> bool:
        """Whether some of its agents were given hints."""
        return any(row.figures.agent.config.get(HINTS_KEY) for row in self.rows)


def experiment_page(asked: ReportQuery, choices: Sequence[Choice]) -> ExperimentPage:
    """The page, in two queries beyond those of the choices."""
    figures = asked.figures
    standings = figures.standings
    return ExperimentPage(
        asked=asked,
        choices=choices,
        rows=[_row(asked, each) for each in figures.configurations],
        undecided=_linked(asked, standings[RunResult.NONE], RunResult.NONE),
        left_out=left_out_of(asked),
    )


def left_out_of(asked: ReportQuery) -> list[tuple[Promise, Linked]]:
    """The runs that no figure counts, by why; nothing where there are none."""
    standings = asked.figures.standings
    return [
        (words, _linked(asked, n, standing))
        for standing, words in LEFT_OUT.items()
        if (n := standings[standing])
    ]


def _row(asked: ReportQuery, each: Figures) -> ConfigurationRow:
    pk, standings = each.agent.pk, each.standings

    def linked(standing: RunResult) -> Linked:
        return _linked(asked, standings.get(standing, 0), standing, agent=pk)

    experiment, source = asked.scope.experiment, asked.source
    decided = runs_url(experiment, source, agent=pk, standing=joined(DECIDED))
    return ConfigurationRow(
        figures=each,
        decided=Linked(each.decided, decided),
        successes=linked(RunResult.SUCCESS),
        failures=linked(RunResult.FAILURE),
        undecided=linked(RunResult.NONE),
        left_out=[
            (words, linked(standing))
            for standing, words in TOLD_LEFT_OUT.items()
            if standings.get(standing)
        ],
    )


def _linked(asked: ReportQuery, n: int, standing: RunResult, **chosen: object) -> Linked:
    """The number with its runs; what is hidden is counted and not listed."""
    if standing is RunResult.HIDDEN:
        return Linked(n)
    return Linked(n, runs_url(asked.scope.experiment, asked.source, standing=standing, **chosen))
