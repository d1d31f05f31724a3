"""Carrying out a learning job: what its kind learns from each item, stored as it comes."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from pydantic import JsonValue

from runs.models import LearningItem, LearningJob
from runs.queue.paid_work import Worker, WorkRefusedError
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


def carry_out(job_id: UUID) -> bool:
    """Work on a job until it is through or has to stop; False if it was not there to be had."""
    job = LearningJob.objects.claim(job_id, lease_s=settings.ENV.LEASE_S)
    if job is None:
        return False
    _Learner(job).carry_out()
    return True


@dataclass(frozen=True, slots=True)
class _Done:
    """One item with what came of it."""

    item: LearningItem
    learned: Learned


class _Learner(Worker[LearningJob, LearningItem, _Done]):
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

    def do(self, item: LearningItem) -> _Done:
        try:
            learned = self._learning.learn(self.work, item.key, self._model)
        except ModelFailure as failure:
            learned = Learned(problem=str(failure))
        except DatabaseError:
            raise
        except Exception as error:
            logger.exception("Item %s of learning job %s broke.", item.key, self.work.pk)
            learned = Learned(problem=f"{type(error).__name__}: {error}"[:500])
        return _Done(item, learned)

    def store(self, done: list[_Done]) -> dict[str, int]:
        for one in done:
            one.item.is_done = True
            one.item.result = dict(one.learned.result)
            one.item.problem = one.learned.problem
        items = [one.item for one in done]
        LearningItem.objects.bulk_update(items, ["is_done", "result", "problem"])
        self._learning.keep(self.work, [item for item in items if not item.problem])
        through = self.work.items.filter(is_done=True)
        return {"n_done": through.count(), "n_problems": through.exclude(problem="").count()}

    def finish(self) -> dict[str, object]:
        return {"report": dict(self._learning.finish(self.work))}
