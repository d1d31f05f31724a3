"""Learning jobs: started, watched, cancelled and resumed by people, done item by item."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.contrib import messages
from django.db import DatabaseError, transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import JsonValue

from runs.interface.requests import AppRequest
from runs.models import LearningItem, LearningJob, User
from runs.queue.jobs import cost_in_words, progress_of
from runs.queue.leases import sweep_work
from runs.queue.paid_work import Worker, WorkRefusedError
from runs.queue.paid_work_services import ResumeForm, check_limits, limit_to_resume, resume
from runs.queue.sweeping import swept
from runs.queue.workers import dispatch
from webagent.llm.interface import LanguageModel, ModelFailure

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of one item; `problem` says why nothing did."""

    result: Mapping[str, JsonValue] = field(default_factory=dict)
    problem: str = ""


class Learning(ABC):
    """One kind of job. `learn` is called in several threads at a time."""

    @abstractmethod
    def keys(self, job: LearningJob) -> Sequence[str]:
        """What the items of the job are about, each once, in order.

        Raises:
            WorkRefusedError: there is nothing that can be done.
        """

    @abstractmethod
    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        """Do one item.

        Raises:
            ModelFailure: the model gave no reply; the job notes that, or stops if it is no use.
        """

    def keep(  # noqa: B027 (for most kinds the results of the items are enough)
        self, job: LearningJob, items: Sequence[LearningItem]
    ) -> None:
        """Store what came of some items, inside the transaction that notes them as done."""

    @abstractmethod
    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        """Store what all came to, inside the transaction that ends the job; its report."""


_kinds: dict[str, Learning] = {}


def learns(kind: LearningJob.Kind, learning: Learning) -> None:
    """From now on jobs of this kind are carried out so."""
    _kinds[kind] = learning


def carry_out(job_id: UUID, *, language_model: LanguageModel | None = None) -> bool:
    """Work on a job until it is through or has to stop; False if it was not there to be had.

    Args:
        language_model: answers in the place of the model that the job names.
    """
    job = LearningJob.objects.claim(job_id, lease_s=settings.ENV.LEASE_S)
    if job is None:
        return False
    _Learner(job, language_model=language_model).carry_out()
    return True


class _Learner(Worker[LearningJob, LearningItem, LearningItem]):
    """One learning job under way."""

    def choose(self) -> int:
        keys = _kinds[self.work.kind].keys(self.work)
        LearningItem.objects.bulk_create(
            [LearningItem(job=self.work, position=at, key=key) for at, key in enumerate(keys)],
            batch_size=1000,
            ignore_conflicts=True,
        )
        return len(keys)

    def prepare(self, model: LanguageModel | None) -> None:
        if model is None:
            raise WorkRefusedError("Learning asks a model, and the job names none.")
        self._learning, self._model = _kinds[self.work.kind], model

    def items(self) -> Iterator[LearningItem]:
        return iter(self.work.items.filter(is_done=False).order_by("position"))

    def do(self, item: LearningItem) -> LearningItem:
        try:
            learned = self._learning.learn(self.work, item.key, self._model)
        except ModelFailure as failure:
            learned = Learned(problem=str(failure))
        except DatabaseError:
            raise
        except Exception as error:
            logger.exception("Item %s of learning job %s broke.", item.key, self.work.pk)
            learned = Learned(problem=f"{type(error).__name__}: {error}"[:500])
        item.is_done, item.result, item.problem = True, dict(learned.result), learned.problem
        return item

    def store(self, done: list[LearningItem]) -> dict[str, int]:
        LearningItem.objects.bulk_update(done, ["is_done", "result", "problem"])
        self._learning.keep(self.work, [item for item in done if not item.problem])
        through = self.work.items.filter(is_done=True)
        return {"n_done": through.count(), "n_problems": through.exclude(problem="").count()}

    def finish(self) -> dict[str, object]:
        return {"report": dict(self._learning.finish(self.work))}


LEARN = "runs.tasks.learn"


@shared_task(name=LEARN)
def learn(job_id: str) -> None:
    """Work on the job unless another worker does: a second delivery finds nothing to claim.

    The worker that is free now asks for others, such as those that waited for the same model.
    """
    if carry_out(UUID(job_id)):
        dispatch_learning()
    else:
        LearningJob.objects.undispatch([UUID(job_id)])


@swept
def sweep_learning() -> None:
    """End jobs that no worker will end."""
    sweep_work(LearningJob)


@swept
def dispatch_learning() -> None:
    """Tell the workers of jobs that wait."""
    dispatch(LearningJob, LEARN)


def start_learning(
    *,
    kind: LearningJob.Kind,
    model: str,
    params: Mapping[str, JsonValue],
    max_cost: Decimal | None = None,
    estimate: Mapping[str, JsonValue] | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> LearningJob:
    """Queue a job. Whoever sends the same twice, by a double click, gets the one under way.

    Args:
        estimate: what it is expected to take, as it was shown.
        is_told: somebody takes it up at once, so no worker is told.

    Raises:
        WorkRefusedError: its model cannot be asked, or its limit of costs could not hold.
    """
    check_limits(model, max_cost)
    options: dict[str, Any] = {
        "kind": kind,
        "model": model,
        "params": dict(params),
        "max_cost": max_cost,
    }
    with transaction.atomic():
        if user and (there := LearningJob.objects.active_of(user, **options).first()):
            return there
        job = LearningJob.objects.create(
            **options,
            estimate=dict(estimate or {}),
            created_by=user,
            dispatched_at=timezone.now() if is_told else None,
        )
        if not is_told:
            transaction.on_commit(dispatch_learning)
    return job


def cancel_learning(*, job: LearningJob) -> bool:
    """Ask a job to stop; what is done stays done. False if it had ended already."""
    return LearningJob.objects.request_cancel(job.pk)


def resume_learning(*, job: LearningJob, max_cost: Decimal | None = None) -> bool:
    """Queue a stopped job again, where it stopped; False if there is nothing to resume.

    Items that nothing came of are tried again.

    Args:
        max_cost: the new limit for all of it; as before where None.

    Raises:
        WorkRefusedError: its model cannot be asked, or what is spent has reached the limit.
    """
    limit = limit_to_resume(job, max_cost)
    with transaction.atomic():
        is_queued = LearningJob.objects.resume(job.pk, max_cost=limit)
        if is_queued:
            job.items.exclude(problem="").update(is_done=False, problem="", result={})
            through = job.items.filter(is_done=True).count()
            LearningJob.objects.filter(pk=job.pk).update(n_done=through, n_problems=0)
            transaction.on_commit(dispatch_learning)
    return is_queued


def job_context(job: LearningJob) -> dict[str, Any]:
    """How far a job is, what it takes, and the form of a new limit where it needs one."""
    progress = progress_of(job)
    return {
        "job": job,
        "progress": progress,
        "cost": cost_in_words(job),
        "resume_form": ResumeForm(work=job) if progress.needs_budget else None,
    }


def cancelled(request: AppRequest, job: LearningJob) -> HttpResponse:
    """Ask the job to stop, and show its page again."""
    if not cancel_learning(job=job):
        messages.info(request, _("It had already ended."))
    return redirect(job)


def resumed(request: AppRequest, job: LearningJob) -> HttpResponse:
    """Queue the stopped job again, where it stopped, and show its page again."""
    resume(request, job, lambda limit: resume_learning(job=job, max_cost=limit))
    return redirect(job)
