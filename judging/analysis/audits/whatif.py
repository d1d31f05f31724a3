"""What if an evaluator were switched otherwise? Recomputed over a study's runs, nothing stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING
from uuid import UUID

from judging.analysis.audits.cells import Shown, items_in_cells, shown
from judging.analysis.audits.explanations import decided_by
from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.population import SUCCESS
from judging.analysis.audits.whatif_settings import Setting
from judging.evaluators.contract import Evaluator, Finding
from judging.evaluators.matchers import OnPatchedTasks, TaskVersion
from judging.evaluators.pipelines import Pipeline
from judging.evaluators.stored_judge import StoredJudge, read_replies
from judging.models import Study
from judging.statistics.confusion import Cell, ConfusionMatrix, cell
from judging.statistics.figures import Share
from runs.models import Run, Task

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from judging.analysis.audits.cells import JudgedItem

MOST_RUNS = 5000
MOST_SECONDS = 20.0
CHUNK = 100
"""Runs whose captured pages are in memory at a time."""


class Change(StrEnum):
    """How a run moves between the cells."""

    FIXED_FN = "fixed_fn"
    FIXED_FP = "fixed_fp"
    LOST_TP = "lost_tp"
    NEW_FP = "new_fp"
    GAINED = "gained"
    """A verdict where there was none."""
    LOST = "lost"
    """No verdict where there was one."""


_CHANGES: Mapping[tuple[Cell, Cell], Change] = {
    (Cell.FN, Cell.TP): Change.FIXED_FN,
    (Cell.FP, Cell.TN): Change.FIXED_FP,
    (Cell.TP, Cell.FN): Change.LOST_TP,
    (Cell.TN, Cell.FP): Change.NEW_FP,
}


def change(now: Cell, then: Cell) -> Change | None:
    """What a move from one cell to another means; None where the run stays."""
    if now is then:
        return None
    return _CHANGES.get((now, then)) or (Change.GAINED if then.has_verdict else Change.LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A run that would move, and what decided before and after."""

    run_id: UUID
    number: int
    goal: str
    answer: str
    now: Shown
    then: Shown
    decided_now: str
    decided_then: str


@dataclass(slots=True, kw_only=True)
class Compared:
    """A study's runs under an evaluator as stored and as switched.

    `computed` of `total` counted runs; fewer where the limit of runs or time came first.
    """

    total: int
    computed: int = 0
    seconds: float = 0.0
    cells_now: Counter[Cell] = field(default_factory=Counter)
    cells_then: Counter[Cell] = field(default_factory=Counter)
    flips: dict[Change, list[Flip]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    """Why there would be no verdict, by run."""

    @property
    def commonest_reasons(self) -> list[tuple[str, int]]:
        """The same as pairs, the commonest first: templates cannot ask a counter."""
        return self.reasons.most_common()

    @property
    def is_partial(self) -> bool:
        return self.computed < self.total

    @property
    def now(self) -> ConfusionMatrix:
        return ConfusionMatrix.counted(self.cells_now)

    @property
    def then(self) -> ConfusionMatrix:
        return ConfusionMatrix.counted(self.cells_then)

    @property
    def changed(self) -> int:
        """Runs that would move."""
        return sum(map(len, self.flips.values()))

    @property
    def rates(self) -> tuple[Share, Share, Share]:
        """Success rates by the evaluator now and then, over its verdicts, and by the reference."""
        now, then = self.now, self.then
        return (
            now.pass_rate,
            then.pass_rate,
            then.prevalence,
        )


def compare(study: Study, setting: Setting) -> Compared:
    """The study's runs under the switched evaluator, as many as the limits allow.

    Raises:
        UnknownEvaluatorError: the program has moved on from the evaluator.
    """
    preview = Preview.of(setting)
    items = judged_items(study, setting)
    compared = Compared(total=items.count())
    started = monotonic()
    for item, task in with_tasks(items.iterator(chunk_size=CHUNK), setting):
        if compared.computed >= MOST_RUNS or monotonic() - started > MOST_SECONDS:
            break
        _add(compared, item, preview.finding(item, task))
    compared.seconds = monotonic() - started
    return compared


def _add(compared: Compared, item: JudgedItem, finding: Finding) -> None:
    succeeded = item.verdict.verdict == SUCCESS
    now = cell(succeeded, PASSED_BY_VERDICT.get(item.said_verdict or ""))
    then = cell(succeeded, PASSED_BY_VERDICT.get(finding.verdict))
    compared.computed += 1
    compared.cells_now[now] += 1
    compared.cells_then[then] += 1
    if not then.has_verdict:
        compared.reasons[finding.reason] += 1
    if (moved := change(now, then)) is not None:
        compared.flips.setdefault(moved, []).append(
            Flip(
                run_id=item.run_id,
                number=item.position,
                goal=item.run.goal or item.run.task.goal,
                answer=item.run.final_answer or "",
                now=shown(now),
                then=shown(then),
                decided_now=item.said_reason or decided_by(item.said_details),
                decided_then=finding.reason or decided_by(finding.details),
            )
        )


def judged_items(study: Study, setting: Setting) -> QuerySet[JudgedItem]:
    """The counted items with what the stored version said, and all that evaluators read."""
    items = items_in_cells(study, setting.version, list(Shown))
    return items.defer(None).defer("run__record", "run__task__record")


def with_tasks(
    items: Iterator[JudgedItem], setting: Setting
) -> Iterator[tuple[JudgedItem, Task | None]]:
    """Each item with the newest version of its task, where the setting reads that."""
    if setting.tasks is not TaskVersion.PATCHED:
        yield from ((item, None) for item in items)
        return
    while chunk := list(islice(items, CHUNK)):
        newest = Task.objects.newest_versions({item.run.task_id for item in chunk})
        yield from ((item, newest.get(item.run.task_id, item.run.task)) for item in chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The switched evaluator with stored replies in place of its model."""

    evaluator: Evaluator
    judge: StoredJudge | None

    @classmethod
    def of(
        cls, setting: Setting, matcher: Callable[[Evaluator], Evaluator] = lambda each: each
    ) -> Preview:
        """The preview of a setting; `matcher` may put another one in its matcher's place."""
        evaluator = setting.evaluator()
        if isinstance(evaluator, Pipeline):
            judge = StoredJudge(judge=evaluator.judge, stages=setting.stages or ())
            own = replace(evaluator, judge=judge, matcher=matcher(evaluator.matcher))
            return cls(evaluator=own, judge=judge)
        if setting.stages is not None and setting.rules is None:
            stored = StoredJudge(judge=evaluator, stages=setting.stages)
            return cls(evaluator=stored, judge=stored)
        if isinstance(evaluator, OnPatchedTasks):
            return cls(evaluator=OnPatchedTasks(matcher(evaluator.evaluator)), judge=None)
        return cls(evaluator=matcher(evaluator), judge=None)

    def finding(self, item: JudgedItem, task: Task | None) -> Finding:
        """What the evaluator would say of the item's run; `task` is its newest version."""
        run: Run = item.run
        if self.judge is not None:
            replies = read_replies(item.said_details, item.said_verdict or "", item.said_task)
            self.judge.replies.clear()
            if replies is not None and item.said_verdict is not None:
                self.judge.replies[run.pk] = replies
        if task is not None and isinstance(self.evaluator, OnPatchedTasks | Pipeline):
            return self.evaluator.evaluate_on(run, task)
        return self.evaluator.evaluate(run)
