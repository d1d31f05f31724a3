"""What the page of an experiment's progress shows, every number with its runs and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.audits.triangle_links import Linked
from judging.analysis.experiments.figures import Figures
from judging.analysis.experiments.page import left_out_of
from judging.analysis.experiments.population import DECIDED, RunResult
from judging.analysis.experiments.selection import joined
from judging.analysis.progress import drawing, sentences
from judging.analysis.progress.difficulty import By, part_of
from judging.analysis.progress.figures import (
    LIMITS,
    AtLimit,
    Progressed,
    Stopped,
    at_limits,
    curve_of,
    parts_of,
    progressed,
    rate_interval,
    score_of,
    stops_of,
)
from judging.analysis.progress.report_query import ProgressAsked
from judging.analysis.progress.rows import RunRow
from judging.analysis.progress.selection import TOLD, stopped_at
from judging.analysis.progress.sources import ProgressChoice
from judging.analysis.progress.told import SILENCES
from judging.statistics.figures import Interval, Undefined
from judging.statistics.progress import AdjustedScore, AtStep
from judging.statistics.success import Mean

ANY_DECIDED = joined(DECIDED)
MOST_STEPS_LISTED = 30
MOST_STOPS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRow:
    """Some runs of one configuration; `part` names which, and is empty for all of them."""

    configuration: Figures
    part: str
    found: Progressed
    known: Linked
    successes: Linked
    failures: Linked
    silent: Sequence[tuple[Promise, Linked]]
    undecided: Linked
    sentence: str

    @property
    def reached_ends(self) -> Interval | Undefined | None:
        return _ends(self.found.reached)

    @property
    def held_ends(self) -> Interval | Undefined | None:
        return _ends(self.found.held)

    @property
    def failures_ends(self) -> Interval | Undefined | None:
        return _ends(self.found.failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsShown:
    """The runs of one configuration by the difficulty of their tasks."""

    configuration: Figures
    rows: Sequence[ProgressRow]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveShown:
    """Progress by step of one configuration; `listed` leaves steps out where there are many."""

    configuration: Figures
    listed: Sequence[AtStep]
    picture: SafeString
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopShown:
    """A milestone that runs did not get past; by configuration those that have any."""

    stopped: Stopped
    linked: Linked
    by_configuration: Sequence[tuple[str, Linked]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsShown:
    """One configuration under every limit, with the runs that each cuts."""

    configuration: Figures
    rows: Sequence[tuple[AtLimit, Linked, Interval | Undefined | None]]
    """With the interval of the progress; up to the limit from which all others are the same."""
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreShown:
    """One configuration's adjusted score, and how it comes about."""

    configuration: Figures
    score: AdjustedScore
    failures: Linked
    silent: int
    """Failures without a progress rate, which the score leaves out."""
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPage:
    """The page of an experiment's progress under what it is asked."""

    asked: ProgressAsked
    choices: Sequence[ProgressChoice]
    rows: Sequence[ProgressRow]
    task_sets: Sequence[ProgressRow]
    difficulty: Sequence[PartsShown]
    curves: Sequence[CurveShown]
    stops: Sequence[StopShown]
    more_stops: int
    limits: Sequence[LimitsShown]
    scores: Sequence[ScoreShown]
    picture: SafeString

    @property
    def difficulty_rows(self) -> list[ProgressRow]:
        return [row for each in self.difficulty for row in each.rows]

    @property
    def known(self) -> int:
        return sum(row.found.n for row in self.rows)

    @property
    def runs(self) -> int:
        return sum(row.found.runs for row in self.rows)

    @property
    def partial(self) -> int:
        return sum(row.found.partial for row in self.rows)

    @property
    def silent(self) -> list[tuple[Promise, Linked]]:
        """All runs without a progress rate, by why."""
        return [
            (words, linked)
            for silence, words in SILENCES.items()
            if (n := sum(row.found.silences.get(silence, 0) for row in self.rows))
            for linked in [Linked(n, self.asked.url(found=silence))]
        ]

    @property
    def left_out(self) -> list[tuple[Promise, Linked]]:
        """Runs that count nowhere, whatever is told of them: errors are no progress of 0."""
        return left_out_of(self.asked.asked)

    @property
    def undecided(self) -> Linked:
        n = sum(row.found.undecided for row in self.rows)
        return Linked(n, self.asked.url(found=TOLD, standing=RunResult.NONE))


def progress_page(asked: ProgressAsked, choices: Sequence[ProgressChoice]) -> ProgressPage:
    """The page, in a number of queries that does not depend on its runs."""
    each = asked.configurations
    rows = [_row(asked, one, "", asked.rows_of(one), {}) for one in each]
    told = [row.configuration for row in rows if row.found.n]
    stops = stops_of(asked.rows)
    return ProgressPage(
        asked=asked,
        choices=choices,
        rows=rows,
        task_sets=_by_task_set(asked),
        difficulty=[_by_difficulty(asked, one) for one in told],
        curves=[_curve(asked, one) for one in told],
        stops=[_stop(asked, each) for each in stops[:MOST_STOPS]],
        more_stops=max(0, len(stops) - MOST_STOPS),
        limits=[_limits(asked, one) for one in told],
        scores=[_score(asked, one) for one in told],
        picture=drawing.beside_success([(row.configuration.name, row.found) for row in rows]),
    )


def summary_rows(asked: ProgressAsked) -> list[ProgressRow]:
    """A row a configuration, for the page of the experiment itself."""
    return [_row(asked, one, "", asked.rows_of(one), {}) for one in asked.configurations]


def _row(
    asked: ProgressAsked,
    configuration: Figures,
    part: str,
    rows: Sequence[RunRow],
    chosen: dict[str, object],
) -> ProgressRow:
    found = progressed(rows)
    of_part = {"agent": configuration.agent.pk, **chosen}

    def linked(n: int, standing: str, told: str = TOLD) -> Linked:
        return Linked(n, asked.url(found=told, standing=standing, **of_part))

    return ProgressRow(
        configuration=configuration,
        part=part,
        found=found,
        known=linked(found.n, ANY_DECIDED),
        successes=linked(found.success.count, RunResult.SUCCESS),
        failures=linked(found.failures.runs, RunResult.FAILURE),
        silent=[
            (words, Linked(n, asked.url(found=silence, **of_part)))
            for silence, words in SILENCES.items()
            if (n := found.silences.get(silence, 0))
        ],
        undecided=linked(found.undecided, RunResult.NONE),
        sentence=sentences.of_progress(found),
    )


def _by_task_set(asked: ProgressAsked) -> list[ProgressRow]:
    """A row a configuration and task set; none where there is one task set alone."""
    if len({row.task_set for row in asked.rows}) < 2:
        return []
    return [
        _row(asked, one, name, part, {"task_set": part[0].task_set})
        for one in asked.configurations
        for name, part in parts_of(asked.rows_of(one), lambda row: row.task_set_name).items()
    ]


def _by_difficulty(asked: ProgressAsked, one: Figures) -> PartsShown:
    parts = parts_of(asked.rows_of(one), lambda row: part_of(asked.split, row, asked.tasks))
    above = asked.split.above
    words = {"easy": (_("easy"), f"1-{above}"), "hard": (_("hard"), f"{above + 1}+")}
    rows = []
    for name, part in parts.items():
        if asked.split.by is By.LEVEL:
            rows.append(_row(asked, one, name, part, {"level": name}))
        else:
            rows.append(_row(asked, one, words[name][0], part, {"milestones": words[name][1]}))
    sentence = sentences.of_parts([(row.part, row.found) for row in rows])
    return PartsShown(configuration=one, rows=rows, sentence=sentence)


def _curve(asked: ProgressAsked, one: Figures) -> CurveShown:
    rows = asked.rows_of(one)
    curve = curve_of(rows)
    stride = -(-len(curve) // MOST_STEPS_LISTED)
    listed = [point for point in curve if point.step % stride == 0 or point is curve[-1]]
    return CurveShown(
        configuration=one,
        listed=listed,
        picture=drawing.by_step(one.name, rows, curve),
        sentence=sentences.of_curve(curve),
    )


def _stop(asked: ProgressAsked, stopped: Stopped) -> StopShown:
    def linked(n: int, **chosen: object) -> Linked:
        found = stopped_at(stopped.stop)
        return Linked(n, asked.url(found=found, standing=ANY_DECIDED, **chosen))

    return StopShown(
        stopped=stopped,
        linked=linked(stopped.share.count),
        by_configuration=[
            (one.name, linked(n, agent=one.agent.pk))
            for one in asked.configurations
            if (n := stopped.runs.get(one.agent.pk, 0))
        ],
    )


def _limits(asked: ProgressAsked, one: Figures) -> LimitsShown:
    found = at_limits(asked.rows_of(one), LIMITS)
    return LimitsShown(
        configuration=one,
        rows=[
            (
                at,
                Linked(
                    at.cut,
                    asked.url(
                        found=TOLD,
                        standing=ANY_DECIDED,
                        agent=one.agent.pk,
                        steps=f"{at.limit + 1}+",
                    ),
                ),
                _ends(at.reached),
            )
            for at in _telling(found)
        ],
        sentence=sentences.of_limits(found),
    )


def _ends(mean: Mean) -> Interval | Undefined | None:
    """The interval, or why there is none; None where there is no mean either."""
    return None if isinstance(mean.value, Undefined) else rate_interval(mean)


def _telling(found: Sequence[AtLimit]) -> list[AtLimit]:
    """The limits up to the first that cuts nothing and leaves nothing more unknown."""
    last = found[-1]
    enough = next(
        (n for n, at in enumerate(found, 1) if not at.cut and at.unknown == last.unknown),
        len(found),
    )
    return list(found[:enough])


def _score(asked: ProgressAsked, one: Figures) -> ScoreShown:
    rows = asked.rows_of(one)
    found = score_of(rows, k=asked.options.k, alpha=asked.options.alpha)
    url = asked.url(found=TOLD, standing=RunResult.FAILURE, agent=one.agent.pk)
    return ScoreShown(
        configuration=one,
        score=found,
        failures=Linked(found.failures, url),
        silent=sum(row.standing is RunResult.FAILURE and row.told is None for row in rows),
        sentence=sentences.of_score(found),
    )
