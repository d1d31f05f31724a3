"""Which rules matter most: what each one alone changes, switched the other way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.population import SUCCESS
from judging.analysis.audits.whatif import (
    CHUNK,
    MOST_RUNS,
    MOST_SECONDS,
    Change,
    Preview,
    change,
    judged_items,
    with_tasks,
)
from judging.analysis.audits.whatif_settings import Setting
from judging.evaluators.contract import Evaluator
from judging.evaluators.matchers import MatcherEvaluator
from judging.evaluators.matching.outcome import (
    EvaluatorIdentity,
    MatchEvaluation,
    MatchOutcome,
    MatchTask,
)
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.rules import DESCRIPTIONS, Rule
from judging.models import Study
from judging.statistics.confusion import Cell, cell

if TYPE_CHECKING:
    from judging.analysis.audits.cells import JudgedItem
    from runs.models import Task


@dataclass(slots=True, kw_only=True)
class Lever:
    """One rule, and how many runs would move if it alone were switched the other way."""

    rule: Rule
    is_on: bool
    setting: Setting
    """The setting with the rule switched so."""
    changes: Counter[Change] = field(default_factory=Counter)

    @property
    def description(self) -> str:
        return gettext(DESCRIPTIONS[self.rule])

    @property
    def total(self) -> int:
        return self.changes.total()

    @property
    def others(self) -> int:
        """Verdicts that would come or go."""
        return self.changes[Change.GAINED] + self.changes[Change.LOST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Levers:
    """The rules that change anything, the most first, over `computed` of `total` runs."""

    levers: Sequence[Lever]
    computed: int
    total: int

    @property
    def is_partial(self) -> bool:
        return self.computed < self.total


@dataclass(slots=True)
class _Sounding:
    """A repaired matcher that remembers which rules its last verdict asked about."""

    matcher: RepairedMatcher
    consulted: frozenset[Rule] = frozenset()

    @property
    def identity(self) -> EvaluatorIdentity:
        return self.matcher.identity

    def evaluate(self, task: MatchTask, outcome: MatchOutcome) -> MatchEvaluation:
        found, self.consulted = self.matcher.evaluate_recording(task, outcome)
        return found


def levers(study: Study, setting: Setting) -> Levers:
    """What every single rule would change from here, as far as the limits of runs and time go.

    A rule that a verdict did not ask about cannot change it, so only those are tried, each alone.

    Raises:
        UnknownEvaluatorError: the program has moved on from the evaluator.
    """
    enabled = setting.rules or frozenset()
    sounding = _Sounding(RepairedMatcher(rules=enabled))

    def in_place_of(evaluator: Evaluator) -> Evaluator:
        if isinstance(evaluator, MatcherEvaluator):
            missing = str(evaluator.identity.config.get("missing_answer", ""))
            sounding.matcher = RepairedMatcher(rules=enabled, missing_answer=missing)
        return MatcherEvaluator(sounding)

    preview = Preview.of(setting, matcher=in_place_of)
    as_set = sounding.matcher
    found: dict[Rule, Counter[Change]] = {}
    items = judged_items(study, setting)
    total, computed, started = items.count(), 0, monotonic()
    for item, task in with_tasks(items.iterator(chunk_size=CHUNK), setting):
        if computed >= MOST_RUNS or monotonic() - started > MOST_SECONDS:
            break
        computed += 1
        sounding.matcher, sounding.consulted = as_set, frozenset()
        here = _cell(preview, item, task)
        for rule in sounding.consulted:
            sounding.matcher = replace(as_set, rules=as_set.rules ^ {rule})
            if (moved := change(here, _cell(preview, item, task))) is not None:
                found.setdefault(rule, Counter())[moved] += 1
    return Levers(
        levers=sorted(
            (
                Lever(rule=rule, is_on=rule in enabled, setting=setting.toggled(rule), changes=n)
                for rule, n in found.items()
            ),
            key=lambda each: (-each.total, each.rule),
        ),
        computed=computed,
        total=total,
    )


def _cell(preview: Preview, item: JudgedItem, task: Task | None) -> Cell:
    verdict = preview.finding(item, task).verdict
    return cell(item.verdict.verdict == SUCCESS, PASSED_BY_VERDICT.get(verdict))
