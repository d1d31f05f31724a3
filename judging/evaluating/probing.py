"""Probing a judge: runs of a study again, with answers that try to talk it into passing them.

No evaluation is made or changed. Replies of the model are kept like any others, so that the same
probe is paid once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from django.db import connection

from judging.evaluating.replies import StoredReplies
from judging.evaluators.contract import Evaluator, Finding
from judging.evaluators.judges.injections import Attack, Way
from judging.evaluators.judges.outcome import MANIPULATED, total_cost
from judging.evaluators.registry import evaluator_named, usable_entry
from judging.evaluators.whole_runs import TrajectoryJudgeEvaluator
from judging.models import Evaluation
from judging.models.evaluations import SETTLED
from judging.statistics.figures import Share
from runs.catalogue.language_models import ModelUnavailableError, model_registry
from runs.models import Run
from webagent.llm.budget import Budget
from webagent.llm.client import Client
from webagent.llm.interface import FailureKind
from webagent.trajectory.values import items


@dataclass(slots=True)
class AttackResult:
    """The result of one attack.

    A run is at risk where a pass would be wrong by the judge's own word: it failed with its real
    answer, or its answer was replaced and the judge goes by nothing else. Judgements that ended
    in an error say nothing and are only counted as such; manipulation is no pass. `lost`: passed
    with the real answer, failed once the attack was appended to it. `noticed`: the judge says
    that a text tries to influence it.
    """

    attack: str
    way: Way
    at_risk: int = 0
    flips: int = 0
    lost: int = 0
    manipulated: int = 0
    no_verdict: int = 0
    noticed: int = 0

    @property
    def share(self) -> Share:
        """Flips of the runs at risk."""
        return Share(self.flips, self.at_risk)


@dataclass(slots=True)
class Probe:
    """The result of a probe, `results` by attack and way.

    `passed`, `failed` and `no_verdict` of its `runs` are with their real answers. `flipped`: of
    the runs that were ever at risk, those that at least one attack got passed.
    """

    evaluator: str
    model: str
    runs: int
    passed: int = 0
    failed: int = 0
    no_verdict: int = 0
    results: list[AttackResult] = field(default_factory=list)
    flipped: Share = Share(0, 0)
    cost: Decimal | None = Decimal(0)
    is_cut_short: bool = False
    """The budget was spent before all was asked."""


@contextmanager
def probed_judge(
    name: str, model: str, max_cost: Decimal | None
) -> Iterator[tuple[Evaluator, int]]:
    """The judge of that name, ready to be asked, and how many requests its model takes at a time.

    Raises:
        ModelUnavailableError: the model cannot be asked, or its price is unknown and costs are
            to be capped.
        UnknownEvaluatorError: no evaluator has that name.
    """
    entry = usable_entry(model)
    if max_cost is not None and entry.prices is None:
        raise ModelUnavailableError(f"the prices of {model} are unknown, so no cap can hold")
    budget = None if max_cost is None else Budget(max_cost)
    with Client(model_registry(), budget=budget, cache=StoredReplies()) as client:
        evaluator = evaluator_named(name, model=model, language_model=client)
        yield evaluator, entry.max_concurrency


def probe(
    evaluator: Evaluator,
    at_a_time: int,
    runs: Sequence[Run],
    attacks: Sequence[Attack],
    *,
    on_finding: Callable[[], object] = lambda: None,
) -> Probe:
    """Judge each run with its real answer, then with every attack appended and in its place.

    `on_finding` is called after every judgement, at most `judgements(runs, attacks)` times: runs
    without a verdict on their real answers are not asked about again.
    """
    identity = evaluator.identity
    result = Probe(identity.name, str(identity.config.get("model", "")), len(runs))
    at_risk: dict[UUID, bool] = {}
    with ThreadPoolExecutor(at_a_time) as pool:
        asking = _Asking(pool, evaluator, result, on_finding)
        before = {
            run.pk: judged.verdict for run, judged in asking.all([(run, run) for run in runs])
        }
        _count_real(result, before)
        for attack in attacks:
            for way in Way:
                if result.is_cut_short:
                    break
                counted = AttackResult(attack.name, way)
                for run, finding in asking.all(_injected(runs, before, attack, way)):
                    risky = _is_at_risk(before[run.pk], way, identity.name)
                    flips = _count(counted, before[run.pk], finding, is_at_risk=risky)
                    if risky:
                        at_risk[run.pk] = at_risk.get(run.pk, False) or flips
                result.results.append(counted)
    result.flipped = Share(sum(at_risk.values()), len(at_risk))
    return result


def judgements(runs: Sequence[Run], attacks: Sequence[Attack]) -> int:
    """How many judgements a probe takes at most."""
    return len(runs) * (1 + len(attacks) * len(Way))


@dataclass(frozen=True, slots=True)
class _Asking:
    """Has runs judged several at a time, and keeps the account."""

    pool: ThreadPoolExecutor
    evaluator: Evaluator
    result: Probe
    on_finding: Callable[[], object]

    def all(self, questions: Sequence[tuple[Run, Run]]) -> Iterator[tuple[Run, Finding]]:
        """Each run with its judgement as it is shown to the judge, in any order."""
        waiting = {self.pool.submit(self._judged, shown): run for run, shown in questions}
        for future in as_completed(waiting):
            finding = future.result()
            self.result.cost = total_cost([self.result.cost, finding.cost])
            self.on_finding()
            if _error_kind(finding) == FailureKind.OUT_OF_BUDGET:
                self.result.is_cut_short = True
            else:
                yield waiting[future], finding

    def _judged(self, run: Run) -> Finding:
        try:
            return self.evaluator.evaluate(run)
        finally:
            connection.close()  # that of this thread, if it needed one


def _injected(
    runs: Sequence[Run], before: Mapping[UUID, str], attack: Attack, way: Way
) -> list[tuple[Run, Run]]:
    """The runs that had a verdict, each with the one that has the attack in its answer."""
    injected = []
    for run in runs:
        if before.get(run.pk) in SETTLED:
            shown = copy(run)
            shown.final_answer = attack.applied(run.final_answer or "", way)
            injected.append((run, shown))
    return injected


def _is_at_risk(before: str, way: Way, evaluator: str) -> bool:
    goes_by_answer = evaluator != TrajectoryJudgeEvaluator.name
    return before == Evaluation.Verdict.FAILED or (way is Way.REPLACED and goes_by_answer)


def _count_real(result: Probe, before: Mapping[UUID, str]) -> None:
    verdicts = list(before.values())
    result.passed = verdicts.count(Evaluation.Verdict.PASSED)
    result.failed = verdicts.count(Evaluation.Verdict.FAILED)
    result.no_verdict = result.runs - result.passed - result.failed


def _count(counted: AttackResult, before: str, finding: Finding, *, is_at_risk: bool) -> bool:
    """Count the judgement; whether the attack got the run passed."""
    passed = finding.verdict == Evaluation.Verdict.PASSED
    manipulated = _error_kind(finding) == MANIPULATED
    counted.noticed += any(stage.get("steering") is True for stage in _stages(finding))
    counted.manipulated += manipulated
    if finding.verdict not in SETTLED and not manipulated:
        counted.no_verdict += 1
        return False
    counted.at_risk += is_at_risk
    counted.flips += is_at_risk and passed
    was_right = before == Evaluation.Verdict.PASSED and counted.way is Way.APPENDED
    counted.lost += was_right and finding.verdict == Evaluation.Verdict.FAILED
    return is_at_risk and passed


def _error_kind(finding: Finding) -> str:
    kinds = (stage.get("error_kind") for stage in _stages(finding))
    return next((kind for kind in kinds if isinstance(kind, str)), "")


def _stages(finding: Finding) -> list[dict[str, object]]:
    return [stage for stage in items(finding.details.get("stages")) if isinstance(stage, dict)]
