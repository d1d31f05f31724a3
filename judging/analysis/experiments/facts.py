"""What is asked of an experiment, and the facts that its reports are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median_low
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from judging.analysis.audits.verdict_sources import short_names
from judging.analysis.experiments.course import Detections, Looped, detections_of, loops_of
from judging.analysis.experiments.figures import Configuration, ExperimentFigures
from judging.analysis.experiments.pairs import By, Pairing, pair_all
from judging.analysis.experiments.population import (
    DECIDED,
    LEFT_OUT,
    Choice,
    RunResult,
    Scope,
    Source,
    choices_among,
    default_source,
)
from judging.analysis.experiments.selection import Placed, Selection, joined, placed_tasks, runs_url
from judging.analysis.failure_modes.sources import ModeSource
from judging.analysis.hint_effects.reading import HintEffects
from judging.analysis.miniwob.figures import SuiteFigures, suite_of
from judging.analysis.progress.rows import Difficulty, RunRow, progress_value, rows_of
from judging.analysis.progress.sources import (
    ProgressChoice,
    ProgressSource,
    default_progress_source,
    progress_choices,
)
from judging.analysis.reports.report import Cell
from judging.statistics.progress import ALPHA
from runs.models import Experiment

LARGEST_K = 10
ANY_DECIDED = joined(DECIDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuery:
    """Whose verdicts and whose progress are counted, and how they are combined.

    None leaves a choice to the runs: the source that speaks of most of them, pairs by seed where
    they share seeds, and tasks split at the median of their milestones.
    """

    source: Source | None = None
    selector: Source | None = None
    by: By | None = None
    modes_by: ModeSource = ModeSource.KNOWN
    selection: Selection | None = None
    progress: ProgressSource | None = None
    alpha: float = ALPHA
    k: int = 1
    split: Difficulty = Difficulty.MILESTONES
    above: int | None = None


class Facts:
    """An experiment as somebody may know it, under a query. Everything is read once."""

    def __init__(self, scope: Scope, query: ReportQuery | None = None) -> None:
        self.scope = scope
        self.query = query or ReportQuery()

    def under(self, **changes: Any) -> Facts:
        """The same experiment under a query with these changes."""
        return Facts(self.scope, replace(self.query, **changes))

    @property
    def experiment(self) -> Experiment:
        return self.scope.experiment

    @cached_property
    def choices(self) -> list[Choice]:
        """The sources of verdicts for these runs. Which runs count hangs on none of them."""
        return choices_among(self.scope.counted(Source()))

    @property
    def verdict_menu(self) -> list[tuple[str, str]]:
        """The same by their keys, in words."""
        return [
            (each.source.key, runs_counted(each.source.name, each.verdicts))
            for each in self.choices
        ]

    @property
    def progress_menu(self) -> list[tuple[str, str]]:
        """The sources of progress by their keys, in words."""
        versions = filter(None, (source.evaluator for source, _n in self.progress_choices))
        names = short_names(versions)
        found = [
            (source.key, runs_counted(names[by.pk] if (by := source.evaluator) else source.name, n))
            for source, n in self.progress_choices
        ]
        return found or [("", _("Nothing yet"))]

    @cached_property
    def source(self) -> Source:
        return self.query.source or default_source(self.choices)

    @cached_property
    def figures(self) -> ExperimentFigures:
        return ExperimentFigures(self.scope, self.source)

    @property
    def configurations(self) -> Sequence[Configuration]:
        return self.figures.configurations

    @cached_property
    def tasks(self) -> Mapping[int, Placed]:
        """The tasks by site, template, level and kind of evaluation."""
        return placed_tasks(self.figures)

    @cached_property
    def progress_choices(self) -> list[ProgressChoice]:
        return progress_choices(self.scope.visible)

    @cached_property
    def progress(self) -> ProgressSource:
        return self.query.progress or default_progress_source(self.progress_choices)

    @cached_property
    def rows(self) -> list[RunRow]:
        """All runs that count, with their verdict and their progress."""
        return rows_of(self.scope, self.source, self.progress)

    def rows_of(self, configuration: Configuration) -> list[RunRow]:
        return [row for row in self.rows if row.agent == configuration.pk]

    @cached_property
    def hard_above(self) -> int:
        """Tasks with more milestones are hard: than the median of those with any, unless chosen."""
        if self.query.split is Difficulty.LEVEL:
            return 0
        if self.query.above is not None:
            return self.query.above
        counts = {row.task: row.milestones for row in self.rows if row.milestones}
        return median_low(counts.values()) if counts else 0

    @property
    def split_rule(self) -> str:
        """How tasks are split into easy and hard ones."""
        if self.query.split is Difficulty.LEVEL:
            return _("Tasks by the level that their source gives them.")
        return _("Hard: tasks with more than %(n)s milestones. Easy: all others that have any.") % {
            "n": self.hard_above
        }

    @cached_property
    def most_k(self) -> int:
        """The largest k that some task has enough trials for."""
        trials = Counter((row.agent, row.task) for row in self.rows if row.is_decided)
        return min(LARGEST_K, max(trials.values(), default=1))

    @cached_property
    def detections(self) -> list[Detections]:
        return detections_of(self.figures)

    @cached_property
    def loops(self) -> list[Looped]:
        return loops_of(self.figures)

    @cached_property
    def pairings(self) -> list[tuple[Configuration, Configuration, Pairing]]:
        """Every two configurations, paired as the query says."""
        return pair_all(self.scope, self.configurations, self.source, self.query.by)

    @cached_property
    def suite(self) -> list[SuiteFigures]:
        return suite_of(self.scope)

    @cached_property
    def hints(self) -> HintEffects:
        """What hints changed, where there are any."""
        return HintEffects(self.scope, self.source)

    def title(self, about: str) -> str:
        return f"{self.experiment.name}: {about}"

    @property
    def notes(self) -> list[str]:
        """Whose verdicts these are, and of how many runs."""
        return [
            _("Verdicts: %(source)s. %(rule)s %(decided)s of %(counted)s runs that count have one.")
            % {
                "source": self.source.name,
                "rule": self.source.rule,
                "decided": self.figures.decided,
                "counted": self.figures.counted,
            }
        ]

    def progress_notes(self, *notes: str) -> list[str]:
        """Whose progress it is, of how many runs both are known, and what else must be known."""
        source = _(
            "Progress: %(source)s. %(rule)s %(known)s of %(runs)s runs that count have both a "
            "progress rate and a verdict; all others are left out and counted."
        ) % {
            "source": self.progress.name,
            "rule": self.progress.rule,
            "known": sum(row.is_known for row in self.rows),
            "runs": len(self.rows),
        }
        return [source, *notes, _("Rates lie between 0 and 1.")]

    def url(self, configuration: Configuration | None = None, **chosen: object) -> str:
        """Where the runs behind a number are listed."""
        if configuration is not None:
            chosen = {"agent": configuration.pk, **chosen}
        return runs_url(self.experiment, self.source, **chosen)

    def cell(
        self,
        value: object,
        configuration: Configuration | None = None,
        *,
        note: str = "",
        standing: str = ANY_DECIDED,
        **chosen: object,
    ) -> Cell:
        """A figure with the runs behind it, by default those with a verdict."""
        return Cell(value, self.url(configuration, standing=standing, **chosen), note)

    def progress_url(
        self, found: str, configuration: Configuration | None = None, **chosen: object
    ) -> str:
        """Where runs are listed of which the source of progress says this."""
        value = progress_value(self.progress, found)
        return self.url(configuration, progress=value, **chosen)

    @property
    def left_out(self) -> list[tuple[str, Cell]]:
        """The runs that no figure counts, by why. What is hidden is counted and not listed."""
        return [
            (str(words), Cell(n, "" if why is RunResult.HIDDEN else self.url(standing=why)))
            for why, words in LEFT_OUT.items()
            if (n := self.figures.standings[why])
        ]

    @property
    def parameters(self) -> str:
        """What leads to the same verdicts, behind the question mark of an address."""
        return urlencode({"verdict": self.source.key})

    @property
    def progress_parameters(self) -> str:
        """The same with everything that is chosen of progress."""
        query = self.query
        chosen: dict[str, str | int] = {
            "verdict": self.source.key,
            "progress": self.progress.key,
            "alpha": self.alpha_text,
            "k": query.k,
            "split": query.split.value,
        }
        return urlencode(chosen | ({} if query.above is None else {"above": query.above}))

    @property
    def alpha_text(self) -> str:
        """Alpha as a form field holds it, in any language."""
        return f"{self.query.alpha:g}"


def runs_counted(name: str, runs: int) -> str:
    """Somebody who speaks of runs, with how many these are."""
    return f"{name} ({ngettext('%(n)s run', '%(n)s runs', runs) % {'n': intcomma(runs)}})"
