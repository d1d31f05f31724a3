"""What if an evaluator were switched otherwise? Recomputed over a study's runs, nothing stored."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.explanations import decided_by
from judging.analysis.audits.matrices import cell_under
from judging.analysis.audits.population import JudgedItem, Shown, items_in_cells, shown
from judging.analysis.audits.what_if.settings import Setting
from judging.evaluators.answer_judges import StoredJudge, read_replies
from judging.evaluators.contract import Evaluator, Finding
from judging.evaluators.matchers import MatcherEvaluator, OnPatchedTasks, TaskVersion
from judging.evaluators.matching.outcome import (
    EvaluatorIdentity,
    MatchEvaluation,
    MatchOutcome,
    MatchTask,
)
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.rules import DESCRIPTIONS, LABELS, Rule
from judging.evaluators.pipelines import Pipeline
from judging.evaluators.registry import UnknownEvaluatorError
from judging.models import Study
from judging.statistics.confusion import Cell, ConfusionMatrix
from judging.statistics.figures import Share
from runs.models import Run, Task
from webagent.measures import batched

MOST_RUNS = 5000
MOST_SECONDS = 20.0
OPENING_SECONDS = 3.0
"""For each kind of switch, to find the one that moves most."""
CHUNK = 100
"""Runs whose captured pages are in memory at a time."""


class Change(models.TextChoices):
    """How a run moves between the cells."""

    FIXED_FN = "fixed_fn", _("FN repaired")
    FIXED_FP = "fixed_fp", _("FP repaired")
    LOST_TP = "lost_tp", _("TP lost")
    NEW_FP = "new_fp", _("new FP")
    GAINED = "gained", _("a verdict where there is none")
    LOST = "lost", _("no verdict any more")

    @property
    def gain(self) -> int:
        """Errors corrected, less those made; a verdict that comes or goes is neither."""
        return {self.FIXED_FN: 1, self.FIXED_FP: 1, self.LOST_TP: -1, self.NEW_FP: -1}.get(self, 0)


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


@dataclass(slots=True, kw_only=True)
class Recomputed:
    """`computed` of `total` counted runs; fewer where the limit of runs or time came first."""

    total: int = 0
    computed: int = 0
    seconds: float = 0.0
    most_seconds: float = MOST_SECONDS

    @property
    def is_partial(self) -> bool:
        return self.computed < self.total

    def over(self, study: Study, setting: Setting) -> Iterator[tuple[JudgedItem, Task | None]]:
        """The counted items with what the stored version said and all that evaluators read, as
        many as the limits allow; each with the newest version of its task, if that is read.
        """
        items = items_in_cells(study, setting.version, list(Shown))
        items = items.defer(None).defer("run__record", "run__task__record")
        self.total = items.count()
        started = monotonic()
        for pair in _with_tasks(items.iterator(chunk_size=CHUNK), setting):
            if self.computed >= MOST_RUNS or monotonic() - started > self.most_seconds:
                break
            self.computed += 1
            yield pair
        self.seconds = monotonic() - started


def _with_tasks(
    items: Iterator[JudgedItem], setting: Setting
) -> Iterator[tuple[JudgedItem, Task | None]]:
    if setting.tasks is not TaskVersion.PATCHED:
        yield from ((item, None) for item in items)
        return
    for chunk in batched(items, CHUNK):
        newest = Task.objects.newest_versions({item.run.task_id for item in chunk})
        yield from ((item, newest.get(item.run.task_id, item.run.task)) for item in chunk)


class Flip:
    """A run that would move, and what decided before and after."""

    def __init__(self, item: JudgedItem, finding: Finding, now: Cell, then: Cell) -> None:
        self.run_id, self.number = item.run_id, item.position
        self.title = item.run.title
        self.answer = item.run.final_answer or ""
        self.now, self.then = shown(now), shown(then)
        self.decided_now = item.said_reason or decided_by(item.said_details)
        self.decided_then = finding.reason or decided_by(finding.details)


@dataclass(slots=True, kw_only=True)
class Compared(Recomputed):
    """A study's runs under an evaluator as stored and as switched."""

    cells_now: Counter[Cell] = field(default_factory=Counter)
    cells_then: Counter[Cell] = field(default_factory=Counter)
    flips: dict[Change, list[Flip]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    """Why there would be no verdict, by run."""

    @property
    def now(self) -> ConfusionMatrix:
        return ConfusionMatrix.counted(self.cells_now)

    @property
    def then(self) -> ConfusionMatrix:
        return ConfusionMatrix.counted(self.cells_then)

    @property
    def changed(self) -> int:
        return sum(map(len, self.flips.values()))

    @property
    def rates(self) -> list[tuple[str, Share]]:
        """Success rates by the evaluator now and then, over the runs with its verdict, each before
        that of the same runs by the reference; once where it is one.
        """
        reference, now, then = gettext("by the reference"), self.now, self.then
        found = [
            (gettext("by the evaluator now"), now.pass_rate),
            (reference, now.reference_rate),
            (gettext("by the evaluator then"), then.pass_rate),
            (reference, then.reference_rate),
        ]
        return [found[0], *found[2:]] if found[1] == found[3] else found


def compare(study: Study, setting: Setting, most_seconds: float = MOST_SECONDS) -> Compared:
    """The study's runs under the switched evaluator, as many as the limits allow.

    Raises UnknownEvaluatorError where the program has moved on from the evaluator.
    """
    preview = Preview(setting)
    compared = Compared(most_seconds=most_seconds)
    for item, task in compared.over(study, setting):
        finding = preview.finding(item, task)
        reference = item.verdict.verdict
        now, then = cell_under(reference, item.said_verdict), cell_under(reference, finding.verdict)
        compared.cells_now[now] += 1
        compared.cells_then[then] += 1
        if not then.has_verdict:
            compared.reasons[finding.reason] += 1
        if (moved := change(now, then)) is not None:
            compared.flips.setdefault(moved, []).append(Flip(item, finding, now, then))
    return compared


class Preview:
    """The switched evaluator with stored replies in place of its model.

    `matcher` may put another one in its matcher's place.
    """

    def __init__(
        self, setting: Setting, matcher: Callable[[Evaluator], Evaluator] = lambda each: each
    ) -> None:
        evaluator = setting.evaluator()
        self.evaluator, self.judge = evaluator, None
        if isinstance(evaluator, Pipeline):
            self.judge = StoredJudge(judge=evaluator.judge, stages=setting.stages or ())
            own = matcher(evaluator.matcher)
            self.evaluator = replace(evaluator, judge=self.judge, matcher=own)
        elif setting.stages is not None and setting.rules is None:
            self.judge = self.evaluator = StoredJudge(judge=evaluator, stages=setting.stages)
        elif isinstance(evaluator, OnPatchedTasks):
            self.evaluator = OnPatchedTasks(matcher(evaluator.evaluator))
        else:
            self.evaluator = matcher(evaluator)

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


@dataclass(slots=True, kw_only=True)
class Lever:
    """One rule, and how many runs would move if it alone were switched the other way."""

    rule: Rule
    is_on: bool
    setting: Setting
    changes: Counter[Change]

    @property
    def name(self) -> str:
        return gettext(LABELS[self.rule])

    @property
    def description(self) -> str:
        return gettext(DESCRIPTIONS[self.rule])

    @property
    def others(self) -> int:
        """Verdicts that would come or go."""
        return self.changes[Change.GAINED] + self.changes[Change.LOST]


@dataclass(slots=True, kw_only=True)
class Levers(Recomputed):
    """The rules that change anything, those that move most runs first."""

    levers: list[Lever] = field(default_factory=list)


@dataclass(slots=True)
class _Recording:
    """A repaired matcher that remembers which rules its last verdict asked about."""

    matcher: RepairedMatcher
    consulted: frozenset[Rule] = frozenset()

    @property
    def identity(self) -> EvaluatorIdentity:
        return self.matcher.identity

    def evaluate(self, task: MatchTask, outcome: MatchOutcome) -> MatchEvaluation:
        found, self.consulted = self.matcher.evaluate_recording(task, outcome)
        return found


def most_correcting(study: Study, setting: Setting, others: Iterable[Setting]) -> Setting | None:
    """The setting with the one switch thrown that corrects most errors, less those that it makes,
    and of equals moves fewest runs; None where none corrects more than it makes.

    Args:
        others: those with one stage or the version of the tasks switched; rules are tried anyway.
    """
    moved: list[tuple[Counter[Change], Setting]] = []
    if setting.rules is not None:
        found = levers(study, setting, OPENING_SECONDS).levers
        moved += [(lever.changes, lever.setting) for lever in found]
    for each in others:
        with suppress(UnknownEvaluatorError):  # of a judge without any stage
            flips = compare(study, each, OPENING_SECONDS).flips
            moved.append((Counter({kind: len(runs) for kind, runs in flips.items()}), each))
    better = [each for each in moved if _gain(each[0]) > 0]
    best = max(better, key=lambda each: (_gain(each[0]), -each[0].total()), default=None)
    return best[1] if best else None


def _gain(changes: Counter[Change]) -> int:
    return sum(each.gain * n for each, n in changes.items())


def levers(study: Study, setting: Setting, most_seconds: float = MOST_SECONDS) -> Levers:
    """What every single rule would change from here, as far as the limits of runs and time go.

    A rule that a verdict did not ask about cannot change it, so only those are tried, each alone.
    Raises UnknownEvaluatorError where the program has moved on from the evaluator.
    """
    enabled = setting.rules or frozenset()
    recording = _Recording(RepairedMatcher(rules=enabled))

    def in_place_of(evaluator: Evaluator) -> Evaluator:
        if isinstance(evaluator, MatcherEvaluator):
            missing = str(evaluator.identity.config.get("missing_answer", ""))
            recording.matcher = RepairedMatcher(rules=enabled, missing_answer=missing)
        return MatcherEvaluator(recording)

    preview = Preview(setting, matcher=in_place_of)
    as_set = recording.matcher
    changes: dict[Rule, Counter[Change]] = {}
    found = Levers(most_seconds=most_seconds)
    for item, task in found.over(study, setting):
        recording.matcher, recording.consulted = as_set, frozenset()
        reference = item.verdict.verdict
        here = cell_under(reference, preview.finding(item, task).verdict)
        for rule in recording.consulted:
            recording.matcher = replace(as_set, rules=as_set.rules ^ {rule})
            there = cell_under(reference, preview.finding(item, task).verdict)
            if (moved := change(here, there)) is not None:
                changes.setdefault(rule, Counter())[moved] += 1
    found.levers = [
        Lever(rule=rule, is_on=rule in enabled, setting=setting.toggled(rule), changes=moves)
        for rule, moves in sorted(changes.items(), key=lambda each: (-each[1].total(), each[0]))
    ]
    return found
