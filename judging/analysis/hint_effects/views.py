"""What hints changed in an experiment: heat maps, the tasks behind a cell, files."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from judging.analysis.experiments.access import (
    Freshness,
    facts_of,
    for_readers,
    record_verdicts,
    render_facts,
)
from judging.analysis.experiments.population import Scope
from judging.analysis.hint_effects.pictures import (
    LEVELS,
    MAPS,
    RELATEDNESSES,
    difference_words,
    ends_words,
    heat_map,
    standing_words,
    undecided_words,
)
from judging.analysis.hint_effects.reading import MISSING, HintEffects, TaskEffect, TrialRun
from judging.analysis.hint_effects.reports import HINTS
from judging.analysis.reports.registry import as_picture
from judging.statistics.figures import LEVEL, Share
from runs.interface.requests import AppRequest
from runs.interface.sentences import listed
from runs.launching.experiments.hint_plans import Condition
from runs.models import Hint, HintChoice, User
from webagent.knowledge.entries import Level, Relatedness


@for_readers
def hint_report(request: AppRequest, scope: Scope) -> HttpResponse:
    """Every condition against the same agent without hints."""
    facts = facts_of(request, scope)
    effects = facts.hints
    # Of one trial the best is that one.
    maps = {name: each for name, each in MAPS.items() if name != "best" or effects.planned > 1}
    pictures = [(name, each, heat_map(effects, name)) for name, each in maps.items()]
    return render_facts(
        request,
        "hint_effects/hint_report",
        facts,
        freshness=Freshness(scope.experiment, request.user),
        effects=effects,
        choices=facts.choices,
        report_tables=HINTS.tables("hint-cells", facts) if effects.cells else [],
        baseline=baseline_share(effects),
        undecided=all_undecided(effects),
        # How probable it is that one or more of several independent intervals miss the true value.
        chance_alarm=1 - LEVEL ** len(effects.cells) if len(effects.cells) > 1 else None,
        pictures=pictures if effects.cells else [],
        tables=HINTS.names,
    )


@for_readers
def hint_cell(request: AppRequest, scope: Scope, level: str, relatedness: str) -> HttpResponse:
    """The tasks of one condition, each with its trials side by side."""
    facts = facts_of(request, scope)
    try:
        condition = Condition(Level(level), Relatedness(relatedness))
        page = cell_page(facts.hints, condition, request.user)
    except (ValueError, KeyError) as error:
        raise Http404 from error
    record_verdicts(request, facts.source, page["run_ids"])
    return render_facts(request, "hint_effects/hint_cell", facts, page=page)


@for_readers
def hint_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the heat maps as a file."""
    if name not in MAPS:
        raise Http404
    return as_picture(heat_map(facts_of(request, scope).hints, name), f"hints-{name}")


def baseline_share(effects: HintEffects) -> Share:
    """Successes among the baseline's trials with a verdict."""
    sides = effects.without
    return Share(sum(side.successes for side in sides), sum(side.decided for side in sides))


def all_undecided(effects: HintEffects) -> list[tuple[int, str]]:
    """Trials of all conditions and of the baseline without a verdict, by the reason."""
    hinted = (effect.hinted for cell in effects.cells.values() for effect in cell.tasks)
    sides = [*effects.without, *hinted]
    return undecided_words(sum((side.undecided(effects.planned) for side in sides), Counter[str]()))


def cell_page(effects: HintEffects, condition: Condition, user: User) -> dict[str, Any]:
    """The tasks of one condition, those that changed first; in two queries beyond the effects'.

    Each has its trials, and the choice of its hint where the person may know of it. `run_ids` are
    the runs whose verdicts the page tells. Raises KeyError where the experiment has no such
    condition.
    """
    cell = effects.cells[condition]
    shown = Hint.objects.visible_to(user).filter(pk=OuterRef("hint"))
    choices = HintChoice.objects.filter(
        Exists(shown), hint_set=effects.sets[condition]
    ).select_related("hint__source__task__task_set", "hint__job")
    by_task = {choice.task_id: choice for choice in choices}
    ids: list[UUID] = []

    def row(effect: TaskEffect) -> dict[str, Any]:
        trials = effects.trials(effect.task, condition)
        ids.extend(run.run for _n, *sides in trials for run in sides if run)
        return {
            "task": effects.tasks[effect.task],
            "effect": effect,
            "gained": f"{effect.gained:+d}".replace("-", "−"),
            "pairs": [_pair(*each) for each in trials],
            "choice": by_task.get(effect.task),
        }

    return {
        "level": str(LEVELS[condition.level]),
        "relatedness": listed(RELATEDNESSES[condition.relatedness]),
        "is_upper_bound": condition.relatedness is Relatedness.SAME_TASK,
        "cell": cell,
        "ties": effects.ties[condition],
        "difference": difference_words(cell.difference),
        "ends": ends_words(cell.difference),
        "best": difference_words(cell.best),
        "changed": [row(effect) for effect in cell.changed],
        "unchanged": [row(effect) for effect in cell.unchanged],
        "left_out": [row(effect) for effect in cell.left_out],
        "run_ids": ids,
    }


def _pair(number: int, without: TrialRun | None, hinted: TrialRun | None) -> dict[str, Any]:
    """One trial without hints beside the one with them; an address where both may be opened."""
    first = without.standing.value if without else MISSING
    second = hinted.standing.value if hinted else MISSING
    url = ""
    if without and hinted:
        query = urlencode({"a": str(without.run), "b": str(hinted.run)})
        url = f"{reverse('runs:run_compare')}?{query}"
    elif one := without or hinted:
        url = reverse("runs:run_detail", args=[one.run])
    return {
        "number": number,
        "without": standing_words(first),
        "hinted": standing_words(second),
        "url": url,
        "has_changed": first != second,
    }
