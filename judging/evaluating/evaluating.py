"""Evaluations: made once for a run and an evaluator version, kept for good; one or in batches.

A finished run never changes and neither does a version, so its evaluation stands: asking again
finds it. Only an explicit `Again` makes another, appended beside the earlier ones. A batch is
resumed where it stopped, whoever dies over it.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop, override

from judging.evaluating.replies import StoredReplies
from judging.evaluators.contract import Evaluator, Finding, having_read
from judging.evaluators.registry import UnknownEvaluatorError, evaluator_of, usable_entry
from judging.models import Evaluation, EvaluationBatch, EvaluationBatchItem, EvaluatorVersion, Study
from judging.models.evaluations import SETTLED
from judging.studies.access import EVALUATOR_ADDED
from runs.accounts.audit_log import record_entry
from runs.models import Run
from runs.queue.paid_work import Watcher, Worker, WorkRefusedError
from webagent.llm.budget import ReplyCache
from webagent.llm.interface import LanguageModel
from webagent.llm.registry import ModelEntry
from webagent.measures import batched
from webagent.process import counters

logger = logging.getLogger(__name__)

BATCH = 200
BROKE = gettext_noop("the evaluator broke on this run")

Again = EvaluationBatch.Again


def logged_name(version: EvaluatorVersion) -> str:
    """Its name on pages with its version, in English as all that is stored."""
    with override("en"):
        return version.shown


def version_of(evaluator: Evaluator) -> EvaluatorVersion:
    """The stored version of an evaluator, made on first sight."""
    identity = evaluator.identity
    with transaction.atomic():
        version, is_new = EvaluatorVersion.objects.get_or_create(
            config_hash=identity.config_hash,
            defaults={
                "name": identity.name,
                "kind": identity.kind,
                "version": identity.version,
                "config": dict(identity.config),
            },
        )
        if is_new:
            record_entry(EVALUATOR_ADDED, about=version, words=logged_name(version))
    return version


def runs_of(study: Study) -> QuerySet[Run]:
    """The study's runs that have ended, with what evaluators read, in the study's order.

    Without stubs, of which there is nothing to read.
    """
    ended = Run.objects.whole().ended().filter(study_items__study=study)
    return ended.select_related("task").order_by("study_items__position")


def runs_without(version: EvaluatorVersion, runs: QuerySet[Run]) -> QuerySet[Run]:
    """Those of the runs that the evaluator has not evaluated yet."""
    return runs.exclude(Exists(_current(version).filter(run=OuterRef("pk"))))


def runs_to_evaluate(version: EvaluatorVersion, runs: QuerySet[Run], again: Again) -> QuerySet[Run]:
    """Those of the runs that are evaluated now."""
    if again == Again.NEVER:
        return runs_without(version, runs)
    if again == Again.NO_VERDICT:
        answered = _current(version).filter(_is_answer(version), run=OuterRef("pk"))
        return runs.exclude(Exists(answered))
    return runs


def _is_answer(version: EvaluatorVersion) -> Q:
    """What is an answer: a verdict, or for those who say how a run failed all but an error."""
    if version.kind == EvaluatorVersion.Kind.MODES:
        return ~Q(verdict=Evaluation.Verdict.ERROR)
    return Q(verdict__in=SETTLED)


def _current(version: EvaluatorVersion) -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(evaluator=version, is_current=True)


def in_order(run_ids: Sequence[UUID]) -> Iterator[Run]:
    """These runs as far as they are still there, with what evaluators read, some at a time."""
    for part in batched(run_ids, BATCH):
        found = Run.objects.select_related("task__task_set").in_bulk(part)
        yield from (found[run_id] for run_id in part if run_id in found)


def evaluate_study(study: Study, evaluator: Evaluator) -> EvaluatorVersion:
    """Evaluate the study's runs but those that are evaluated already; the evaluator's version.

    Every part is stored before the next, so that interrupted work is resumed, not redone.
    """
    version = version_of(evaluator)
    missing = list(runs_without(version, runs_of(study)).values_list("pk", flat=True))
    for part in batched(missing, BATCH):
        evaluate_runs(in_order(part), evaluator, version)
    return version


def evaluate_runs(
    runs: Iterable[Run], evaluator: Evaluator, version: EvaluatorVersion
) -> Counter[str]:
    """Evaluate and store in one transaction; a run that has an evaluation keeps that. How many are
    new, by verdict.
    """
    given = list(runs)
    ready = having_read(evaluator, given)
    rows = [evaluation_of(run, ready, version) for run in given]
    with transaction.atomic():
        return store_evaluations(rows, version, again=Again.NEVER)


def evaluation_of(run: Run, evaluator: Evaluator, version: EvaluatorVersion) -> Evaluation:
    """What the evaluator says of the run, as a row that is not stored yet.

    An evaluator that breaks has come to no verdict on this run, which says nothing of the others.

    Raises:
        DatabaseError: the database is away, for which no run can be blamed.
    """
    started = perf_counter()
    try:
        finding = evaluator.evaluate(run)
    except DatabaseError:
        raise
    except Exception as error:
        logger.exception("%s broke on run %s.", version, run.pk)
        finding = Finding.without_verdict(
            BROKE, {"error": f"{type(error).__name__}: {error}"[:500]}
        )
    # Which verdict it is, is not for those who count.
    result = "verdict" if finding.verdict in SETTLED else str(finding.verdict)
    counters.evaluations.labels(version.kind, result).inc()
    return Evaluation(
        run=run,
        evaluator=version,
        verdict=finding.verdict,
        score=finding.score,
        reason=finding.reason[:200],
        details=dict(finding.details),
        rationale=finding.rationale,
        cost=finding.cost,
        seconds=perf_counter() - started,
        task=finding.task or run.task,
        record={"content_hash": run.content_hash} if run.content_hash else {},
    )


def store_evaluations(
    rows: Sequence[Evaluation], version: EvaluatorVersion, *, again: Again
) -> Counter[str]:
    """Store them as the current ones. Call it in a transaction; doing so twice changes nothing.

    Unless `again` asks for it, a run that has an evaluation keeps that one. How many are new, by
    verdict.
    """
    ours = [row.pk for row in rows]
    if again != Again.NEVER:
        earlier = _current(version).filter(run__in=[row.run_id for row in rows])
        earlier.exclude(pk__in=ours).update(is_current=False)
    Evaluation.objects.bulk_create(rows, ignore_conflicts=True)
    # Which rows a conflict kept out is only known by looking.
    stored = Evaluation.objects.filter(pk__in=ours)
    return Counter(stored.values_list("verdict", flat=True))


def carry_out(batch_id: UUID, watcher: Watcher[EvaluationBatch] | None = None) -> bool:
    """Work on a batch until it is through or has to stop; False if it was not there to be had."""
    batch = EvaluationBatch.objects.claim(batch_id, lease_s=settings.ENV.LEASE_S)
    if batch is None:
        return False
    _BatchWorker(batch, watcher).carry_out()
    return True


def add_items(batch: EvaluationBatch, run_ids: Sequence[UUID]) -> int:
    """Make these the runs of the batch; how many. Doing so twice changes nothing."""
    EvaluationBatchItem.objects.bulk_create(
        [
            EvaluationBatchItem(batch=batch, run_id=run_id, position=position)
            for position, run_id in enumerate(run_ids)
        ],
        batch_size=1000,
        ignore_conflicts=True,
    )
    return len(run_ids)


class _BatchWorker(Worker[EvaluationBatch, Run, Evaluation]):
    """One batch under way."""

    at_once_without_model = BATCH

    def choose(self) -> int:
        batch = self.work
        if batch.study is None:
            return batch.items.count()
        runs = runs_to_evaluate(batch.evaluator, runs_of(batch.study), Again(batch.again))
        return add_items(batch, list(runs.values_list("pk", flat=True)[: batch.limit]))

    def prepare(self, model: LanguageModel | None) -> None:
        try:
            self._evaluator = evaluator_of(self.work.evaluator, language_model=model)
        except UnknownEvaluatorError as error:
            raise WorkRefusedError(str(error)) from error

    def entry(self) -> ModelEntry:
        return usable_entry(self.work.model)

    def replies(self) -> ReplyCache:
        # Whoever asks for another evaluation does not want the old reply once more.
        again = self.work.again != Again.NEVER
        return StoredReplies(self.work.created_at if again else None)

    def items(self) -> Iterator[Run]:
        waiting = self.work.items.filter(is_done=False)
        ids = list(waiting.order_by("position").values_list("run_id", flat=True))
        return in_order(ids)

    def do(self, item: Run) -> Evaluation:
        return evaluation_of(item, self._evaluator, self.work.evaluator)

    def store(self, done: list[Evaluation]) -> dict[str, int]:
        batch = self.work
        for row in done:
            row.batch = batch
        made = store_evaluations(done, batch.evaluator, again=Again(batch.again))
        batch.items.filter(run__in=[row.run_id for row in done]).update(is_done=True)
        counts = {
            f"n_{verdict}": getattr(batch, f"n_{verdict}") + made[verdict]
            for verdict in Evaluation.Verdict.values
        }
        counts["n_already"] = batch.n_already + len(done) - made.total()
        return counts | {"n_done": sum(counts.values())}
