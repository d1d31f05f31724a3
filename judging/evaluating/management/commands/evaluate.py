"""`manage.py evaluate`: have evaluators judge the runs of a study, here and now."""

import time
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.evaluating.evaluating import Again, carry_out, in_order, runs_of, runs_without
from judging.evaluating.replies import BatchAsking, Collected, StillWaitingError, StoredReplies
from judging.evaluating.services import (
    chosen_runs,
    estimate_batch,
    estimate_in_words,
    result_in_words,
    start_batch,
)
from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import (
    UnknownEvaluatorError,
    evaluator_named,
    model_asked_by,
    predefined_evaluators,
    usable_entry,
)
from judging.models import EvaluationBatch, Study
from judging.studies.management import study_named
from runs.catalogue.language_models import ModelUnavailableError
from runs.interface.terminal import at_most, dollars, interruptible, progress_bar
from runs.queue.jobs import cost_in_words
from runs.queue.paid_work import Watcher, WorkRefusedError
from runs.queue.paid_work_services import check_limits
from webagent.llm.interface import ModelFailure

State = EvaluationBatch.State


class Command(BaseCommand):
    help = (
        "Evaluate the runs of a study. Existing evaluations are kept. A repeated command "
        "continues what was cut short."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, help="number or name")
        parser.add_argument(
            "--evaluator",
            action="append",
            metavar="NAME",
            help="an evaluator by name; may be given several times; by default all that ask no "
            "language model",
        )
        parser.add_argument("--limit", type=at_most, help="maximum number of runs")
        parser.add_argument(
            "--again", type=Again, choices=list(Again), default=Again.NEVER, help="evaluate anew"
        )
        parser.add_argument("--model", help="default JUDGE_MODEL")
        parser.add_argument(
            "--max-cost", type=dollars, metavar="DOLLARS", help="US dollars for each evaluator"
        )
        parser.add_argument(
            "--as-batch",
            action="store_true",
            help="ask by the provider's batch API, which takes up to a day and may cost less; "
            "this waits for it",
        )
        parser.add_argument("--batch-id", default="", help="continue a submitted batch")
        parser.add_argument("--dry-run", action="store_true", help="only estimate")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        evaluators = _evaluators(options["evaluator"], options["model"])
        if options["batch_id"] or options["as_batch"]:
            _check_batch(evaluators, options)
        try:
            for evaluator in evaluators:
                if options["dry_run"]:
                    self._estimate(study, evaluator, options)
                else:
                    self._evaluate(study, evaluator, options)
        except StillWaitingError as waiting:
            raise CommandError(
                f"The provider works on; the same command with --batch-id {waiting} fetches it."
            ) from None
        except (WorkRefusedError, ModelUnavailableError, ModelFailure) as error:
            raise CommandError(str(error)) from error

    def _estimate(self, study: Study, evaluator: Evaluator, options: dict[str, Any]) -> None:
        check_limits(model_asked_by(evaluator), options["max_cost"], usable_entry)
        expected = estimate_batch(
            evaluator, study=study, again=options["again"], limit=options["limit"]
        )
        self.stdout.write(f"{evaluator.identity.name}: {estimate_in_words(expected)}")

    def _evaluate(self, study: Study, evaluator: Evaluator, options: dict[str, Any]) -> None:
        asked = Collected()
        if options["as_batch"] or options["batch_id"]:
            asked = self._ask_in_batches(study, evaluator, options)
        batch = start_batch(
            evaluator=evaluator,
            study=study,
            again=options["again"],
            limit=options["limit"],
            max_cost=options["max_cost"],
            notifies=False,
        )
        if asked.n_replies:
            batch.spent, batch.n_unpriced = asked.cost, asked.n_unpriced
            batch.save(update_fields=["spent", "n_unpriced"])
        already = 0
        if options["again"] == Again.NEVER:
            runs = runs_of(study)
            already = runs.count() - runs_without(batch.evaluator, runs).count()
        with interruptible() as signals, progress_bar() as progress:
            bar = progress.add_task(evaluator.identity.name, total=None)
            watcher = Watcher[EvaluationBatch](
                on_progress=lambda at: progress.update(bar, completed=at.n_done, total=at.n_total),
                is_interrupted=lambda: bool(signals),
            )
            if not carry_out(batch.pk, watcher):
                EvaluationBatch.objects.request_cancel(batch.pk)
                raise CommandError(
                    f"{batch.model} is busy with another batch; try again when that is through"
                )
        batch.refresh_from_db()
        self._show(batch, already + batch.n_already)

    def _ask_in_batches(
        self, study: Study, evaluator: Evaluator, options: dict[str, Any]
    ) -> Collected:
        """Have the model's replies ready before the evaluator asks for them."""
        check_limits(model_asked_by(evaluator), options["max_cost"], usable_entry)
        name, model = evaluator.identity.name, model_asked_by(evaluator)
        chosen = chosen_runs(evaluator, study=study, limit=options["limit"])
        with interruptible() as signals:
            asking = BatchAsking(
                lambda before: evaluator_named(name, model=model, language_model=before),
                usable_entry(model),
                StoredReplies(),
                wait=partial(_slept, signals),
                max_cost=options["max_cost"],
                tell=self.stdout.write,
            )
            asked = asking.ask(lambda: in_order(chosen), batch_id=options["batch_id"])
        failed = f", {len(asked.failures)} failed and are asked alone" if asked.failures else ""
        self.stdout.write(f"{name}: {asked.n_replies} replies by batch{failed}")
        return asked

    def _show(self, batch: EvaluationBatch, already: int) -> None:
        cost = f"; {cost_in_words(batch)}" if batch.model else ""
        name = batch.evaluator.name
        self.stdout.write(f"{name}: {result_in_words(batch, already)}{cost}")
        left = (batch.n_total or 0) - batch.n_done
        if batch.state == State.FAILED:
            raise CommandError(f"{name} stopped, {left} runs not evaluated: {batch.problem}")
        if batch.state != State.FINISHED:
            raise CommandError(
                f"{name}: {batch.get_state_display()}, {left} runs not evaluated; "
                "the same command goes on from there"
            )


def _slept(signals: list[int], seconds: float) -> bool:
    """Whether nobody interrupted while so many seconds went by."""
    until = time.monotonic() + seconds
    while not signals and time.monotonic() < until:
        time.sleep(min(0.5, seconds))
    return not signals


def _check_batch(evaluators: list[Evaluator], options: dict[str, Any]) -> None:
    """Raises CommandError where batches of the provider make no sense."""
    if len(evaluators) != 1 or not model_asked_by(evaluators[0]):
        raise CommandError("A batch is of one evaluator that asks a model: name it by --evaluator.")
    if options["again"] != Again.NEVER:
        raise CommandError("--again asks the model anew, which a batch's kept replies do not.")


def _evaluators(names: list[str] | None, model: str | None) -> list[Evaluator]:
    if not names:
        return predefined_evaluators()
    try:
        return [evaluator_named(name, model=model) for name in names]
    except UnknownEvaluatorError as error:
        raise CommandError(str(error)) from error
