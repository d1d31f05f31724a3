"""The reports on a judge's progress rates against what people ticked in a study."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.progress.correspondence import (
    Cell,
    Correspondence,
    Mark,
    MilestoneFigures,
    agreement_picture,
    of_equals,
)
from judging.analysis.progress.people import Pair, PeopleFacts
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Cell as Linked
from judging.analysis.reports.report import (
    Column,
    Layout,
    Report,
    ends,
    figure,
    number,
    parted,
    plain,
    report_of,
    text,
    why,
    with_ends,
)
from judging.analysis.reports.showing import (
    DASH,
    Shown,
    ends_words,
    estimate,
    figure_words,
    percent,
    point_ends,
    points_words,
    range_words,
    why_undefined,
)
from judging.statistics.correspondence import Correlation, Differences
from judging.statistics.figures import Undefined

MOST_MILESTONES = 25


class PublishedAgreement(NamedTuple):
    """A judge's progress against people's in one environment; shares, bias in points / 100.

    Reported in an article about AgentBoard (Ma et al. 2024, arXiv 2401.13178), whose own code finds
    progress by rules and holds no judge: these figures say what to expect, and prove nothing.
    """

    environment: str
    r: float
    agreement: float
    bias: float


OVERALL = PublishedAgreement("", 0.88, 0.87, 0.009)
PUBLISHED: Sequence[PublishedAgreement] = (
    OVERALL,
    PublishedAgreement("WebShop", 0.92, 0.89, 0.012),
    PublishedAgreement("ALFWorld", 0.89, 0.86, -0.008),
    PublishedAgreement("ScienceWorld", 0.85, 0.84, 0.021),
)
JUDGE_DOLLARS, PEOPLE_DOLLARS, SAMPLES = 50, 2000, 200
"""What judging so many samples cost, by the judge and by people, reported likewise."""


def _show_correlation(found: Correlation | float) -> Shown:
    if isinstance(found, float):
        return Shown(figure_words(found, is_share=False))
    words = partial(figure_words, is_share=False)
    return estimate(found.r, words, ends_words(found.interval, is_share=False))


def _show_bias(found: Correspondence | float) -> Shown:
    if isinstance(found, float):
        return Shown(points_words(found))
    bias = found.differences.bias
    if isinstance(bias, Undefined):
        return Shown(DASH, why_undefined(bias))
    by_task = gettext("by task: %(ends)s") % {"ends": point_ends(found.by_task.interval)}
    return Shown(points_words(bias), f"{point_ends(found.differences.bias_interval)} · {by_task}")


def _show_limits(found: Differences | None) -> Shown:
    if found is None:
        return Shown(DASH)
    low, high = found.lower_limit, found.upper_limit
    if isinstance(low, Undefined) or isinstance(high, Undefined):
        return Shown(DASH)
    return Shown(range_words(points_words(low), points_words(high)))


def _bias_values(found: Correspondence) -> Sequence[float | None]:
    gaps = found.differences
    return [number(gaps.bias), *ends(gaps.bias_interval), *ends(found.by_task.interval)]  # type: ignore[list-item]  # ends of intervals are numbers


def figures(facts: PeopleFacts) -> Report:
    """One row for all runs, one a site, and one for people with each other."""
    rows = [(gettext("all runs"), facts.whole)]
    sites = sorted({pair.ticked.site for pair in facts.pairs})
    if len(sites) > 1:
        rows += [(site or "—", facts.of_site(site)) for site in sites]
    if rates := facts.between_people:
        first, second = zip(*rates, strict=True)
        rows.append((gettext("people with each other"), of_equals(first, second, facts.tolerance)))
    agreement = gettext("agreement within %(n)s") % {"n": facts.query.tolerance}
    mean_error = figure(
        "mae",
        _("mean error"),
        show=lambda value: Shown(
            points_words(value).lstrip("+") if isinstance(value, float) else DASH
        ),
    )
    correlation = parted(
        ("r", "r_low", "r_high", "r_undefined_because"),
        _("Pearson's r"),
        spread=lambda found: [number(found.r), *ends(found.interval), why(found.r)],
        show=_show_correlation,
    )
    bias = parted(
        ("bias", "bias_low", "bias_high", "bias_low_by_task", "bias_high_by_task"),
        _("bias"),
        spread=_bias_values,
        show=_show_bias,
    )
    limits = parted(
        ("lower_limit", "upper_limit"),
        _("limits of agreement"),
        spread=lambda gaps: [number(gaps.lower_limit), number(gaps.upper_limit)],
        show=_show_limits,
    )
    return report_of(
        rows,
        [
            (text("runs", _("runs")), lambda row: row[0]),
            (Column("n", "n"), lambda row: row[1].differences.pairs),
            (correlation, lambda row: row[1].correlation),
            (with_ends("agreement", agreement), lambda row: row[1].agreement),
            (bias, lambda row: row[1]),
            (mean_error, lambda row: row[1].differences.mean_absolute_error),
            (limits, lambda row: row[1].differences),
        ],
        references=[
            [_published_name(each), None, each.r, each.agreement, each.bias, None, None]
            for each in PUBLISHED
        ],
    )


def _published_name(each: PublishedAgreement) -> str:
    if each is OVERALL:
        return gettext("reported of AgentBoard, overall")
    return gettext("reported, %(name)s") % {"name": each.environment}


def milestones(facts: PeopleFacts) -> Report:
    """One row a milestone; on a page those first on which judge and people differ most often."""

    def row(each: MilestoneFigures) -> list[Any]:
        def cell(which: Cell) -> Linked:
            named = {"task": str(each.task), "milestone": each.name, "cell": which.value}
            url = f"?{facts.parameters}&{urlencode(named)}#runs"
            return Linked(len(each.items[which]), url)

        match = each.match
        return [
            each.task_name,
            each.name,
            match.precision,
            match.recall,
            match.agreement,
            *map(cell, Cell),
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
            with_ends("agreement", ""),
            *(Column(each.value, each.label) for each in Cell),
        ],
        rows=[row(each) for each in facts.milestones],
        page_rows=[row(each) for each in worst],
        layout=Layout(most=MOST_MILESTONES),
    )


def runs(facts: PeopleFacts) -> Report:
    """One row a run that both speak of: what the figures are computed from."""
    highest = "people's progress, mean of the highest"
    each_person = Column("each_person", "progress by each person, as a list")
    cost = Column("cost", "dollars for judging")
    return report_of(
        facts.pairs,
        [
            plain("position", "number in the study", "ticked.position"),
            (Column("run", "run"), lambda pair: str(pair.ticked.run)),
            plain("task", "task", "ticked.task_name"),
            plain("site", "site", "ticked.site"),
            plain("people", highest, "ticked.people.maximum"),
            (each_person, lambda pair: json.dumps(pair.ticked.people.by_each)),
            plain("judge", "the judge's progress, highest", "judge.maximum"),
            plain("difference", "judge − people", "gap"),
            plain("people_at_end", "people's progress, at the end", "ticked.people.final"),
            plain("judge_at_end", "the judge's progress, at the end", "judge.final"),
            (cost, lambda pair: None if pair.cost is None else float(pair.cost)),
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


def people_picture(facts: PeopleFacts) -> SafeString:
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
    reported = OVERALL.bias, gettext("reported")
    return agreement_picture(marks, facts.whole.differences, label=label, reported=reported)
