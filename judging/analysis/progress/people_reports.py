"""The reports on a judge's progress rates against what people ticked in a study."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.pictures_progress import Pair as Mark
from judging.analysis.pictures_progress import agreement_picture
from judging.analysis.progress import published
from judging.analysis.progress.costs import WAGE, Costs, costs_of
from judging.analysis.progress.measured import MISSING
from judging.analysis.progress.people import (
    Against,
    Cell,
    Correspondence,
    MilestoneFigures,
    Pair,
    milestone_figures,
    of_equals,
    of_pairs,
    people_progress,
    pooled,
)
from judging.analysis.progress.sources import ProgressSource
from judging.analysis.reports.columns import (
    ends,
    figure,
    in_files,
    number,
    text,
    value_and_ends,
    why,
    with_ends,
)
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Cell as Linked
from judging.analysis.reports.report import Column, FileColumn, Layout, Report
from judging.analysis.reports.showing import Shown, percent, point_ends
from judging.analysis.wording import DASH, figure_words, interval_words, points_words, why_undefined
from judging.models import Study, StudyItem
from judging.statistics.correspondence import Correlation, Differences
from judging.statistics.figures import Undefined
from judging.statistics.progress import MilestoneMatch
from runs.models.parsing import LONGEST_NUMBER, QueryError, read_amount, read_choice, read_whole

TOLERANCES = (0, 5, 10, 20)
"""Points that judge and people may lie apart and still be said to agree."""
MOST_WAGE = 10_000
MOST_FAR = 20
MOST_MILESTONES = 25
_CELLS = (Cell.BOTH, Cell.JUDGE, Cell.PEOPLE, Cell.NEITHER, Cell.DIVIDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleQuery:
    """Which judge, how near is near, what an hour costs, and a cell of a milestone."""

    evaluator: str = ""
    tolerance: int = 10
    wage: float = WAGE
    task: int | None = None
    milestone: str = ""
    cell: Cell | None = None

    @property
    def wage_text(self) -> str:
        """The wage as a form field holds it, in any language."""
        return f"{self.wage:g}"


def read_people_query(query: QueryDict) -> PeopleQuery:
    """What the address asks.

    Raises:
        QueryError: a value is none that there could be.
    """
    tolerance, wage = query.get("tolerance") or "10", read_amount(query, "wage", 0, MOST_WAGE)
    if tolerance not in map(str, TOLERANCES):
        raise QueryError("tolerance")
    return PeopleQuery(
        evaluator=query.get("evaluator", ""),
        tolerance=int(tolerance),
        wage=WAGE if wage is None else wage,
        task=read_whole(query, "task", 0, 10**LONGEST_NUMBER),
        milestone=query.get("milestone", ""),
        cell=read_choice(query, "cell", Cell),
    )


class PeopleFacts:
    """A study's ticks and the chosen judge's progress; `against` is None where none has any."""

    def __init__(self, study: Study, query: PeopleQuery) -> None:
        self.study = study
        self.query = query
        self.people = people_progress(study)
        self.against: Against | None = self.people.of(query.evaluator)

    @property
    def pairs(self) -> Sequence[Pair]:
        return self.against.pairs if self.against else []

    @property
    def tolerance(self) -> float:
        return self.query.tolerance / 100

    @cached_property
    def whole(self) -> Correspondence:
        return of_pairs(self.pairs, self.tolerance)

    @cached_property
    def milestones(self) -> list[MilestoneFigures]:
        return milestone_figures(self.pairs)

    @property
    def together(self) -> MilestoneMatch | None:
        """All milestones of all runs."""
        return pooled(self.milestones) if self.milestones else None

    @property
    def rule(self) -> str:
        return ProgressSource(self.against.evaluator).rule if self.against else ""

    @property
    def partial(self) -> int:
        return sum(pair.judge.is_partial for pair in self.pairs)

    @property
    def missing(self) -> list[tuple[Promise, int]]:
        """Ticked runs without a progress rate of the judge, by why."""
        found = self.against.missing if self.against else {}
        return [(words, found[reason]) for reason, words in MISSING.items() if found.get(reason)]

    @property
    def costs(self) -> Costs:
        return costs_of(
            [pair.cost for pair in self.pairs],
            self.people.label_seconds,
            [len(each.people.by_each) for each in self.people.ticked],
            self.query.wage,
        )

    @property
    def farthest(self) -> list[Pair]:
        """The runs on which they lie farther apart than the tolerance, farthest first."""
        apart = [pair for pair in self.pairs if abs(pair.gap) > self.tolerance + 1e-9]
        return sorted(apart, key=lambda pair: (-abs(pair.gap), pair.ticked.position))[:MOST_FAR]

    @property
    def parameters(self) -> str:
        """What leads to the same figures, behind the question mark of an address."""
        query: dict[str, str | int] = {
            "tolerance": self.query.tolerance,
            "wage": self.query.wage_text,
        }
        return urlencode(query | ({"evaluator": self.against.evaluator.pk} if self.against else {}))

    def title(self, about: str) -> str:
        return gettext("%(study)s: %(about)s") % {"study": self.study.name, "about": about}

    @property
    def notes(self) -> list[str]:
        judge = str(self.against.evaluator) if self.against else gettext("nobody")
        return [
            gettext("Judge: %(judge)s. %(rule)s") % {"judge": judge, "rule": self.rule},
            gettext("Tolerance: %(n)s points. Rates lie between 0 and 1.")
            % {"n": self.query.tolerance},
            gettext(
                "Of two people neither comes first: r is the intraclass correlation, with no bias."
            ),
        ]

    @property
    def items(self) -> list[StudyItem]:
        """The runs behind the chosen cell of a milestone, in the study's order."""
        chosen = self.query
        if chosen.cell is None:
            return []
        found: Mapping[Cell, Sequence[int]] = next(
            (
                each.items
                for each in self.milestones
                if (each.task, each.name) == (chosen.task, chosen.milestone)
            ),
            {},
        )
        items = StudyItem.objects.filter(pk__among=found.get(chosen.cell, ()))
        shown = items.select_related("run__task").defer("run__record", "run__evidence")
        return list(shown.order_by("position"))


def _show_correlation(found: Correlation | float) -> Shown:
    if isinstance(found, float):
        return Shown(figure_words(found, is_share=False))
    if isinstance(found.r, Undefined):
        return Shown(DASH, why_undefined(found.r))
    ends = found.interval
    words = (
        why_undefined(ends) if isinstance(ends, Undefined) else interval_words(ends, is_share=False)
    )
    return Shown(figure_words(found.r, is_share=False), words)


def _show_bias(found: Correspondence | float) -> Shown:
    if isinstance(found, float):
        return Shown(points_words(found))
    bias = found.differences.bias
    if isinstance(bias, Undefined):
        return Shown(DASH, why_undefined(bias))
    by_task = gettext("by task: %(ends)s") % {"ends": point_ends(found.by_task.interval)}
    return Shown(points_words(bias), f"{point_ends(found.differences.bias_interval)} · {by_task}")


def _show_limits(found: Differences | None) -> Shown:
    if found is None or isinstance(found.lower_limit, Undefined):
        return Shown(DASH)
    low, high = found.lower_limit, found.upper_limit
    if isinstance(high, Undefined):
        return Shown(DASH)
    words = {"low": points_words(low), "high": points_words(high)}
    return Shown(gettext("%(low)s to %(high)s") % words)


def _bias_values(found: Correspondence) -> Sequence[float | None]:
    gaps = found.differences
    return [number(gaps.bias), *ends(gaps.bias_interval), *ends(found.by_task.interval)]  # type: ignore[list-item]  # ends of intervals are numbers


def figures(facts: PeopleFacts) -> Report:
    """One row for all runs, one a site, and one for people with each other."""
    rows = [(gettext("all runs"), facts.whole)]
    sites = sorted({pair.ticked.site for pair in facts.pairs})
    if len(sites) > 1:
        rows += [(site or "—", _of_site(facts, site)) for site in sites]
    if rates := facts.people.between_people:
        first, second = zip(*rates, strict=True)
        rows.append((gettext("people with each other"), of_equals(first, second, facts.tolerance)))
    agreement = gettext("agreement within %(n)s") % {"n": facts.query.tolerance}
    return Report(
        columns=[
            text("runs", _("which runs"), _("runs")),
            Column("n", _("n, runs or pairs of people"), "n"),
            Column(
                "r",
                _("Pearson's r"),
                parts=(
                    FileColumn("r", _("Pearson's r")),
                    FileColumn("r_low", _("lower end, 95 %, Fisher")),
                    FileColumn("r_high", _("upper end, 95 %, Fisher")),
                    FileColumn("r_undefined_because", _("why there is no r")),
                ),
                spread=lambda found: [number(found.r), *ends(found.interval), why(found.r)],
                show=_show_correlation,
            ),
            Column(
                "agreement",
                _("share within the tolerance"),
                agreement,
                parts=(
                    FileColumn("agreement", _("share within the tolerance")),
                    FileColumn("agreement_low", _("lower end, 95 %, Wilson")),
                    FileColumn("agreement_high", _("upper end, 95 %, Wilson")),
                ),
                spread=value_and_ends,
            ),
            Column(
                "bias",
                _("bias: judge − people"),
                _("bias"),
                parts=(
                    FileColumn("bias", _("bias: judge − people")),
                    FileColumn("bias_low", _("lower end, 95 %, Student")),
                    FileColumn("bias_high", _("upper end, 95 %, Student")),
                    FileColumn("bias_low_by_task", _("lower end, 95 %, by task")),
                    FileColumn("bias_high_by_task", _("upper end, 95 %, by task")),
                ),
                spread=_bias_values,
                show=_show_bias,
            ),
            figure(
                "mae",
                _("mean absolute error"),
                _("mean error"),
                show=lambda value: Shown(
                    points_words(value).lstrip("+") if isinstance(value, float) else DASH
                ),
            ),
            Column(
                "limits",
                _("limits of agreement"),
                parts=(
                    FileColumn("lower_limit", _("lower limit of agreement")),
                    FileColumn("upper_limit", _("upper limit of agreement")),
                ),
                spread=lambda gaps: [number(gaps.lower_limit), number(gaps.upper_limit)],
                show=_show_limits,
            ),
        ],
        rows=[
            [
                name,
                found.differences.pairs,
                found.correlation,
                found.agreement,
                found,
                found.differences.mean_absolute_error,
                found.differences,
            ]
            for name, found in rows
        ],
        references=[
            [label, None, each.r, each.agreement, each.bias, None, None]
            for label, each in _published()
        ],
    )


def _of_site(facts: PeopleFacts, site: str) -> Correspondence:
    return of_pairs([pair for pair in facts.pairs if pair.ticked.site == site], facts.tolerance)


def _published() -> list[tuple[str, published.PublishedAgreement]]:
    every = [
        (gettext("reported, %(name)s") % {"name": each.environment}, each)
        for each in published.ENVIRONMENTS
    ]
    return [(gettext("reported of AgentBoard, overall"), published.OVERALL), *every]


def milestones(facts: PeopleFacts) -> Report:
    """One row a milestone; on a page those first on which judge and people differ most often."""

    def row(each: MilestoneFigures) -> list[Any]:
        def cell(which: Cell) -> Linked:
            named = {"task": str(each.task), "milestone": each.name, "cell": which.value}
            url = f"?{facts.parameters}&{urlencode(named)}#runs"
            return Linked(len(each.items.get(which, ())), url)

        match = each.match
        return [
            each.task_name,
            each.name,
            match.precision,
            match.recall,
            match.agreement,
            *map(cell, _CELLS),
        ]

    worst = sorted(
        facts.milestones, key=lambda each: -(each.match.judge_alone + each.match.people_alone)
    )
    return Report(
        columns=[
            text("task", _("task")),
            text("milestone", _("milestone")),
            with_ends("precision", _("precision")),
            with_ends("recall", _("recall")),
            with_ends("agreement", _("agreement"), ""),
            Column("both", _("both say it was reached"), _("both")),
            Column("judge", _("the judge says so alone"), _("judge alone")),
            Column("people", _("people say so alone"), _("people alone")),
            Column("neither", _("neither says so"), _("neither")),
            Column("divided", _("people are divided")),
        ],
        rows=[row(each) for each in facts.milestones],
        page_rows=[row(each) for each in worst],
        layout=Layout(most=MOST_MILESTONES),
    )


def runs(facts: PeopleFacts) -> Report:
    """One row a run that both speak of: what the figures are computed from."""
    columns = [
        ("position", _("number in the study")),
        ("run", _("run")),
        ("task", _("task")),
        ("site", _("site")),
        ("people", _("people's progress, mean of the highest")),
        ("each_person", _("progress by each person, as a list")),
        ("judge", _("the judge's progress, highest")),
        ("difference", _("judge − people")),
        ("people_at_end", _("people's progress, at the end")),
        ("judge_at_end", _("the judge's progress, at the end")),
        ("cost", _("dollars for judging")),
    ]
    return Report(
        columns=[in_files(key, name) for key, name in columns],
        rows=[
            [
                pair.ticked.position,
                str(pair.ticked.run),
                pair.ticked.task_name,
                pair.ticked.site,
                pair.ticked.people.maximum,
                json.dumps(pair.ticked.people.by_each),
                pair.judge.maximum,
                pair.gap,
                pair.ticked.people.final,
                pair.judge.final,
                None if pair.cost is None else float(pair.cost),
            ]
            for pair in facts.pairs
        ],
    )


PEOPLE: Registry[PeopleFacts] = Registry(
    {
        "figures": Entry(_("Progress by the judge and by people"), figures),
        "milestones": Entry(_("Milestones by the judge and by people"), milestones),
        "runs": Entry(_("Runs with both rates"), runs, lists_runs=True),
    },
    prefix="progress-",
)


def picture(facts: PeopleFacts) -> SafeString:
    """Bland and Altman's picture of the runs that both speak of."""

    def words(pair: Pair) -> dict[str, object]:
        return {
            "n": pair.ticked.position,
            "people": percent(pair.ticked.people.maximum),
            "judge": percent(pair.judge.maximum),
        }

    marks = [
        Mark(
            people=pair.ticked.people.maximum,
            judge=pair.judge.maximum,
            url=f"{reverse('runs:run_detail', args=[pair.ticked.run])}?study={facts.study.pk}",
            title=gettext("#%(n)s: people %(people)s, judge %(judge)s") % words(pair),
        )
        for pair in facts.pairs
    ]
    label = gettext("How far is the judge's progress from people's?")
    reported = published.OVERALL.bias, gettext("reported")
    return agreement_picture(marks, facts.whole.differences, label=label, reported=reported)


def sentence(facts: PeopleFacts) -> str:
    """What the figures mean."""
    bias, share = facts.whole.differences.bias, facts.whole.agreement.value
    if isinstance(bias, Undefined) or isinstance(share, Undefined):
        return gettext("No run has both ticks and a progress rate.")
    near = gettext(
        "On %(share)s of the runs the judge is within %(tolerance)s points of people;"
    ) % {"share": percent(share), "tolerance": facts.query.tolerance}
    if not round(100 * abs(bias), 1):
        return f"{near} {gettext('on average it says as much as they do.')}"
    more = (
        gettext("on average it is %(bias)s points higher.")
        if bias > 0
        else gettext("on average it is %(bias)s points lower.")
    )
    return f"{near} " + more % {"bias": points_words(abs(bias)).lstrip("+")}
