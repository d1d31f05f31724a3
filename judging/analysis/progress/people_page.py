"""What the page of a judge's progress beside people's shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.pictures_progress import Pair as Mark
from judging.analysis.pictures_progress import agreement_picture
from judging.analysis.progress import published
from judging.analysis.progress.costs import WAGE, Costs, costs_of
from judging.analysis.progress.people import (
    CELLS,
    Against,
    Cell,
    Correspondence,
    MilestoneFigures,
    Pair,
    PeopleProgress,
    milestone_figures,
    of_equals,
    of_pairs,
    pooled,
)
from judging.analysis.progress.sources import ProgressSource
from judging.analysis.progress.told import SILENCES
from judging.analysis.wording import figure_words, points_words
from judging.models import StudyItem
from judging.statistics.figures import Undefined
from judging.statistics.progress import MilestoneMatch
from judging.statistics.proportions import Share
from runs.models.parsing import LONGEST_NUMBER, QueryError, read_amount, read_choice, read_whole

TOLERANCES = (0, 5, 10, 20)
"""Points that judge and people may lie apart and still be said to agree."""
MOST_WAGE = 10_000
MOST_FAR = 20
MOST_MILESTONES = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the address chooses."""

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


def read_chosen(query: QueryDict) -> Chosen:
    """What the address chooses.

    Raises:
        QueryError: a value is none that there could be.
    """
    tolerance, wage = query.get("tolerance") or "10", read_amount(query, "wage", 0, MOST_WAGE)
    if tolerance not in map(str, TOLERANCES):
        raise QueryError("tolerance")
    return Chosen(
        evaluator=query.get("evaluator", ""),
        tolerance=int(tolerance),
        wage=WAGE if wage is None else wage,
        task=read_whole(query, "task", 0, 10**LONGEST_NUMBER),
        milestone=query.get("milestone", ""),
        cell=read_choice(query, "cell", Cell),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Some runs, or pairs of people on the same run: how well both sides correspond."""

    name: str
    found: Correspondence


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneRow:
    """One milestone with the addresses of its cells."""

    figures: MilestoneFigures
    cells: Sequence[tuple[Cell, int, str]]

    @property
    def shares(self) -> Sequence[Share]:
        """Precision and recall."""
        return self.figures.match.precision, self.figures.match.recall


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """The page of one evaluator; `against` is None where none speaks of ticked runs."""

    people: PeopleProgress
    chosen: Chosen
    against: Against | None
    rows: Sequence[Row]
    between_people: Row | None
    picture: SafeString | None
    milestones: Sequence[MilestoneRow]
    more_milestones: int
    together: MilestoneMatch | None
    farthest: Sequence[Pair]
    costs: Costs
    sentence: str
    query: str

    @property
    def silent(self) -> list[tuple[Promise, int]]:
        """Ticked runs that the evaluator says nothing of, by why."""
        if self.against is None:
            return []
        found = self.against.silences
        return [(words, found[why]) for why, words in SILENCES.items() if found.get(why)]

    @property
    def rule(self) -> str:
        return ProgressSource(self.against.evaluator).rule if self.against else ""

    @property
    def partial(self) -> int:
        pairs = self.against.pairs if self.against else []
        return sum(pair.judge.is_partial for pair in pairs)


def people_page(people: PeopleProgress, chosen: Chosen) -> PeoplePage:
    """The page, without any query of its own."""
    against = people.of(chosen.evaluator)
    pairs = against.pairs if against else []
    tolerance = chosen.tolerance / 100
    whole = of_pairs(pairs, tolerance)
    figures = milestone_figures(pairs)
    query = _query(chosen, against)
    costs = [pair.cost for pair in pairs]
    return PeoplePage(
        people=people,
        chosen=chosen,
        against=against,
        rows=_rows(pairs, whole, tolerance),
        between_people=_between(people, tolerance),
        picture=_picture(people, pairs, whole) if pairs else None,
        milestones=[_milestone(each, query) for each in _worst(figures)[:MOST_MILESTONES]],
        more_milestones=max(0, len(figures) - MOST_MILESTONES),
        together=pooled(figures) if figures else None,
        farthest=_farthest(pairs, tolerance),
        costs=costs_of(
            costs,
            people.label_seconds,
            [len(each.people.voices) for each in people.ticked],
            chosen.wage,
        ),
        sentence=_sentence(whole, chosen.tolerance),
        query=query,
    )


def items_behind(page: PeoplePage) -> list[StudyItem]:
    """The runs behind the chosen cell of a milestone, in the study's order."""
    chosen = page.chosen
    if chosen.cell is None or page.against is None:
        return []
    found: Mapping[Cell, Sequence[int]] = next(
        (
            each.items
            for each in milestone_figures(page.against.pairs)
            if (each.task, each.name) == (chosen.task, chosen.milestone)
        ),
        {},
    )
    items = StudyItem.objects.filter(pk__among=found.get(chosen.cell, ()))
    shown = items.select_related("run__task").defer("run__record", "run__evidence")
    return list(shown.order_by("position"))


def _query(chosen: Chosen, against: Against | None) -> str:
    query: dict[str, str | int] = {"tolerance": chosen.tolerance, "wage": chosen.wage_text}
    return urlencode(query | ({"evaluator": against.evaluator.pk} if against else {}))


def _rows(pairs: Sequence[Pair], whole: Correspondence, tolerance: float) -> list[Row]:
    """All runs, then every site by itself where there are several."""
    sites = sorted({pair.ticked.site for pair in pairs})
    rows = [Row(name=_("all runs"), found=whole)]
    if len(sites) > 1:
        rows += [
            Row(
                name=site or "—",
                found=of_pairs([pair for pair in pairs if pair.ticked.site == site], tolerance),
            )
            for site in sites
        ]
    return rows


def _between(people: PeopleProgress, tolerance: float) -> Row | None:
    """People against each other: what no judge can be expected to surpass."""
    rates = people.between_people
    if not rates:
        return None
    first, second = zip(*rates, strict=True)
    found = of_equals(first, second, tolerance)
    return Row(name=_("people with each other"), found=found)


def _milestone(figures: MilestoneFigures, query: str) -> MilestoneRow:
    def url(cell: Cell) -> str:
        named = urlencode({"task": figures.task, "milestone": figures.name, "cell": cell.value})
        return f"?{query}&{named}#runs"

    return MilestoneRow(
        figures=figures,
        cells=[(cell, len(figures.items.get(cell, ())), url(cell)) for cell in CELLS],
    )


def _worst(figures: Sequence[MilestoneFigures]) -> list[MilestoneFigures]:
    """Those on which judge and people differ most often first."""
    return sorted(figures, key=lambda each: -(each.match.judge_alone + each.match.people_alone))


def _farthest(pairs: Sequence[Pair], tolerance: float) -> list[Pair]:
    """The runs on which they lie farther apart than the tolerance, farthest first."""
    apart = [pair for pair in pairs if abs(pair.gap) > tolerance + 1e-9]
    return sorted(apart, key=lambda pair: (-abs(pair.gap), pair.ticked.position))[:MOST_FAR]


def _picture(people: PeopleProgress, pairs: Sequence[Pair], whole: Correspondence) -> SafeString:
    marks = [
        Mark(
            people=pair.ticked.people.maximum,
            judge=pair.judge.maximum,
            url=f"{reverse('runs:run_detail', args=[pair.ticked.run])}?study={people.study.pk}",
            title=_("#%(n)s: people %(people)s, judge %(judge)s")
            % {
                "n": pair.ticked.position,
                "people": figure_words(pair.ticked.people.maximum, is_share=True),
                "judge": figure_words(pair.judge.maximum, is_share=True),
            },
        )
        for pair in pairs
    ]
    label = _("How far does the judge's progress lie from people's?")
    reported = published.OVERALL.bias, _("reported")
    return agreement_picture(marks, whole.differences, label=label, reported=reported)


def _sentence(found: Correspondence, tolerance: int) -> str:
    bias, share = found.differences.bias, found.agreement.value
    if isinstance(bias, Undefined) or isinstance(share, Undefined):
        return _("Nothing can be said: no run has both ticks and a progress rate.")
    words = {
        "share": figure_words(share, is_share=True),
        "tolerance": tolerance,
        "bias": points_words(abs(bias)).lstrip("+"),
    }
    if not round(100 * abs(bias), 1):
        return (
            _(
                "On %(share)s of the runs the judge is within %(tolerance)s points of people; on "
                "average it says as much as they do."
            )
            % words
        )
    if bias > 0:
        return (
            _(
                "On %(share)s of the runs the judge is within %(tolerance)s points of people; on "
                "average it says %(bias)s points more than they do."
            )
            % words
        )
    return (
        _(
            "On %(share)s of the runs the judge is within %(tolerance)s points of people; on "
            "average it says %(bias)s points less than they do."
        )
        % words
    )
