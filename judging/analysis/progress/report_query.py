"""What a page of progress is asked: whose verdicts, whose progress, and how both are combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from judging.analysis.experiments.figures import Figures
from judging.analysis.experiments.groups import Placed, placed_tasks
from judging.analysis.experiments.population import Scope
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.selection import runs_url
from judging.analysis.progress.difficulty import By, Split, default_split
from judging.analysis.progress.figures import most_trials
from judging.analysis.progress.rows import RunRow, of_agent, rows_of
from judging.analysis.progress.selection import progress_value
from judging.analysis.progress.sources import ProgressSource
from judging.statistics.progress import ALPHA
from runs.models.parsing import read_amount, read_choice, read_whole

LARGEST_K = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How figures are put together; None for what the runs suggest."""

    alpha: float = ALPHA
    k: int = 1
    by: By = By.MILESTONES
    above: int | None = None


def read_options(query: QueryDict) -> Options:
    """The options of an address.

    Raises:
        QueryError: a value is none that there could be.
    """
    alpha = read_amount(query, "alpha", 0, 1)
    return Options(
        alpha=ALPHA if alpha is None else alpha,
        k=read_whole(query, "k", 1, LARGEST_K) or 1,
        by=read_choice(query, "split", By) or By.MILESTONES,
        above=read_whole(query, "above", 0, 1000),
    )


@dataclass(frozen=True)
class ProgressAsked:
    """An experiment as somebody may know it, under a source of verdicts and one of progress."""

    asked: ReportQuery
    progress: ProgressSource
    options: Options

    @cached_property
    def rows(self) -> list[RunRow]:
        """All runs that count, read once."""
        return rows_of(self.scope, self.asked.source, self.progress)

    @cached_property
    def tasks(self) -> Mapping[int, Placed]:
        """Where the tasks belong, read once where that is asked for."""
        return placed_tasks(self.asked.figures)

    @property
    def scope(self) -> Scope:
        return self.asked.scope

    @property
    def configurations(self) -> Sequence[Figures]:
        return self.asked.figures.configurations

    def rows_of(self, configuration: Figures) -> list[RunRow]:
        return of_agent(self.rows, configuration.agent.pk)

    @cached_property
    def split(self) -> Split:
        if self.options.by is By.LEVEL:
            return Split(by=By.LEVEL)
        if self.options.above is not None:
            return Split(by=By.MILESTONES, above=self.options.above)
        return default_split(self.rows)

    @cached_property
    def most_k(self) -> int:
        """The largest k that some task has enough trials for."""
        return min(LARGEST_K, most_trials(self.rows))

    @property
    def alpha_text(self) -> str:
        """Alpha as a form field holds it, in any language."""
        return f"{self.options.alpha:g}"

    @property
    def query(self) -> str:
        """The address of what hangs on all that is chosen."""
        options = self.options
        chosen: dict[str, str | int] = {
            "verdict": self.asked.source.key,
            "progress": self.progress.key,
            "alpha": self.alpha_text,
            "k": options.k,
            "split": options.by.value,
        }
        return urlencode(chosen | ({} if options.above is None else {"above": options.above}))

    @property
    def note(self) -> str:
        """Whose progress it is, and of how many runs both are known."""
        return _(
            "Progress: %(source)s. %(rule)s %(known)s of %(runs)s runs that count have both a "
            "progress rate and a verdict; all others are left out and counted."
        ) % {
            "source": self.progress.name,
            "rule": self.progress.rule,
            "known": sum(row.is_told for row in self.rows),
            "runs": len(self.rows),
        }

    def url(self, *, found: str, **chosen: object) -> str:
        """Where runs are listed of which the source says this (`told`, or why it is silent)."""
        value = progress_value(self.progress, found)
        return runs_url(self.scope.experiment, self.asked.source, progress=value, **chosen)
