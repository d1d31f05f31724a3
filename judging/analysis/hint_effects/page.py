"""What the pages of an experiment of hints show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.http import urlencode

from judging.analysis.experiments.population import RunResult
from judging.analysis.hint_effects.effects import MISSING, Cell, TaskEffect
from judging.analysis.hint_effects.pictures import cell_url
from judging.analysis.hint_effects.reading import HintEffects, TrialRun
from judging.analysis.hint_effects.words import (
    LEVELS,
    RELATEDNESSES,
    difference_words,
    ends_words,
    standing_words,
    undecided_words,
)
from judging.statistics.figures import Share
from runs.launching.experiments.hint_plans import Condition
from runs.models import Hint, HintChoice, Task, User
from webagent.knowledge.entries import Relatedness


@dataclass(frozen=True)
class CellRow:
    """One condition in the table below the pictures."""

    condition: Condition
    cell: Cell
    url: str

    @property
    def level(self) -> str:
        return str(LEVELS[self.condition.level])

    @property
    def relatedness(self) -> str:
        return ", ".join(map(str, RELATEDNESSES[self.condition.relatedness]))

    @property
    def is_upper_bound(self) -> bool:
        return self.condition.relatedness is Relatedness.SAME_TASK

    @property
    def difference(self) -> str:
        return difference_words(self.cell.difference)

    @property
    def ends(self) -> str:
        return ends_words(self.cell.difference)

    @property
    def best(self) -> str:
        return difference_words(self.cell.best)

    @property
    def best_ends(self) -> str:
        return ends_words(self.cell.best)

    @property
    def undecided(self) -> list[tuple[int, str]]:
        return undecided_words(self.cell.undecided)


@dataclass(frozen=True)
class TrialPair:
    """One trial without hints beside the one with them; an address where both may be opened."""

    number: int
    without: str
    hinted: str
    url: str
    has_changed: bool


@dataclass(frozen=True)
class TaskRow:
    """One task of a cell, with its trials and where its hint comes from."""

    task: Task
    effect: TaskEffect
    pairs: Sequence[TrialPair]
    choice: HintChoice | None
    """None where the person may not know of the hint."""

    @property
    def gained(self) -> str:
        """Successes more or fewer, with their sign."""
        return f"{self.effect.gained:+d}".replace("-", "−")

    @property
    def undecided(self) -> list[tuple[int, str]]:
        return undecided_words(self.effect.undecided)


def baseline_share(effects: HintEffects) -> Share:
    """Successes among the baseline's trials with a verdict."""
    sides = [effect.without for effect in effects.baseline_tasks]
    decided = sum(
        standing in (RunResult.SUCCESS, RunResult.FAILURE)
        for side in sides
        for standing in side.trials.values()
    )
    return Share(sum(side.successes for side in sides), decided)


def chance_alarm(cells: int, level: float = 0.95) -> float | None:
    """How often one of so many independent intervals at least leaves out what is true.

    None for one alone.
    """
    return 1 - level**cells if cells > 1 else None


def all_undecided(effects: HintEffects) -> list[tuple[int, str]]:
    """Trials of all conditions and of the baseline without a verdict, by the reason."""
    sides = [effect.without for effect in effects.baseline_tasks]
    sides += [effect.hinted for cell in effects.cells.values() for effect in cell.tasks]
    return undecided_words(sum((side.undecided(effects.planned) for side in sides), Counter[str]()))


@dataclass(frozen=True)
class CellPage:
    """The tasks of one condition: those that changed first."""

    row: CellRow
    changed: Sequence[TaskRow]
    unchanged: Sequence[TaskRow]
    left_out: Sequence[TaskRow]
    run_ids: Sequence[UUID]
    """The runs whose verdicts the page tells."""


def cell_page(effects: HintEffects, condition: Condition, user: User) -> CellPage:
    """The page of a cell, in two queries beyond those of the effects.

    Raises:
        KeyError: the experiment has no such condition.
    """
    cell = effects.cells[condition]
    shown = Hint.objects.visible_to(user).filter(pk=OuterRef("hint"))
    choices = HintChoice.objects.filter(
        Exists(shown), hint_set=effects.sets[condition]
    ).select_related("hint__source__task__task_set", "hint__job")
    by_task = {choice.task_id: choice for choice in choices}
    ids: list[UUID] = []

    def row(effect: TaskEffect) -> TaskRow:
        trials = effects.trials(effect.task, condition)
        ids.extend(run.run for _n, *sides in trials for run in sides if run)
        return TaskRow(
            task=effects.tasks[effect.task],
            effect=effect,
            pairs=[_pair(*each) for each in trials],
            choice=by_task.get(effect.task),
        )

    return CellPage(
        row=CellRow(condition, cell, cell_url(effects, condition)),
        changed=[row(effect) for effect in cell.changed],
        unchanged=[row(effect) for effect in cell.unchanged],
        left_out=[row(effect) for effect in cell.left_out],
        run_ids=ids,
    )


def _pair(number: int, without: TrialRun | None, hinted: TrialRun | None) -> TrialPair:
    first = without.standing.value if without else MISSING
    second = hinted.standing.value if hinted else MISSING
    url = ""
    if without and hinted:
        query = urlencode({"a": str(without.run), "b": str(hinted.run)})
        url = f"{reverse('runs:run_compare')}?{query}"
    elif one := next((each.run for each in (without, hinted) if each), None):
        url = reverse("runs:run_detail", args=[one])
    return TrialPair(
        number, standing_words(first), standing_words(second), url, has_changed=first != second
    )
