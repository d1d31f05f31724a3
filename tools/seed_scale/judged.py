"""Verdicts on seeded runs: evaluations of all, labels and reference verdicts of some."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

from django.core.management.color import no_style
from django.db import connection
from django.db.models import Max

from judging.models import (
    Assignment,
    Dispute,
    Evaluation,
    Label,
    ReferenceVerdict,
    Study,
    StudyItem,
)
from judging.studies.access import Role
from runs.models import User
from tools.seed_scale import shares
from tools.seed_scale.bulk import Bulk
from tools.seed_scale.drawing import FIRST_DAY, Drawn, text_of
from tools.seed_scale.plan import Plan, Pool

_REASON = "nothing to judge by"
_LABELLED_AT = text_of(FIRST_DAY + timedelta(days=640))


class Judging:
    """Tables of judgements that rows are added to."""

    def __init__(self, plan: Plan, pool: Pool) -> None:
        self.plan, self.pool = plan, pool
        self._next_item = (StudyItem.objects.aggregate(last=Max("pk"))["last"] or 0) + 1
        self._evaluations = Bulk(
            Evaluation,
            ("id", "run", "evaluator", "verdict", "score", "reason", "details", "task")
            + ("seconds", "created_at"),
        )
        self._items = Bulk(
            StudyItem, ("id", "study", "run", "position", "status", "n_labels", "run_created_at")
        )
        self._labels = Bulk(
            Label,
            ("id", "item", "annotator", "success", "rationale", "seconds", "guideline")
            + ("submitted_at", "idempotency_key"),
        )
        self._assignments = Bulk(
            Assignment, ("item", "user", "state", "leased_until", "opened_at", "seconds")
        )
        self._disputes = Bulk(Dispute, ("item", "opened_at", "order_seed", "version"))
        self._verdicts = Bulk(
            ReferenceVerdict,
            ("id", "item", "run", "verdict", "origin", "decided_by", "decided_at")
            + ("run_created_at",),
        )

    def evaluate(self, runs: Iterable[Drawn], random: Random) -> None:
        """Three evaluations of each run that ended."""
        self._evaluations.add(
            row for run in runs if run.is_judgeable for row in self._said_of(run, random)
        )

    def _said_of(self, run: Drawn, random: Random) -> Iterator[tuple[Any, ...]]:
        truth = {"success": True, "failure": False}.get(run.outcome)
        third = "judge" if random.random() < 0.5 else "webarena-repaired"
        for name in ("imported-reward", "webarena-strict", third):
            verdict, reason = "not_applicable", _REASON
            if truth is None and name == "imported-reward":
                pass
            elif random.random() < shares.NO_VERDICT:
                verdict = "error"
            else:
                is_right = random.random() < shares.RIGHT[name]
                guess = truth if truth is not None else random.random() < 0.3
                verdict, reason = ("passed" if guess == is_right else "failed"), ""
            score = {"passed": 1.0, "failed": 0.0}.get(verdict)
            actual = self.pool.text(random, shares.EVALUATION_DETAIL_CHARS)
            details = {"checks": [{"name": "must_include", "verdict": verdict, "actual": actual}]}
            yield (
                _id(random),
                run.id,
                self.plan.evaluators[name].pk,
                verdict,
                score,
                reason,
                json.dumps(details),
                run.task_id,
                0.001,
                run.created_at,
            )

    def study(
        self,
        study: Study,
        runs: Sequence[Drawn],
        *,
        first: int,
        people: Sequence[User],
        settled: bool,
        random: Random,
    ) -> None:
        """Put the runs into the study, with what two people each said of them.

        Args:
            first: position of the first run.
            settled: whether all of them are settled.
        """
        guideline = study.guidelines.values_list("pk", flat=True)[0]
        judge = random.choice(self.plan.people[Role.ADJUDICATOR]).pk
        states = shares.ITEM_STATES.draw(random, len(runs))
        ids = range(self._next_item, self._next_item + len(runs))
        self._next_item += len(runs)
        items, labels, handed, disputes, verdicts = [], [], [], [], []
        for item, position, run, drawn in zip(
            ids, itertools.count(first), runs, states, strict=False
        ):
            state = "settled" if settled else drawn
            n_labels = random.randrange(2) if state == "open" else 2
            items.append((item, study.pk, run.id, position, state, n_labels, run.created_at))
            agree = state == "settled" and random.random() < shares.AGREEING
            truth = "success" if run.outcome == "success" else "failure"
            other = truth if agree else "failure" if truth == "success" else "success"
            for person, said in zip(
                random.sample(people, k=2)[:n_labels], (truth, other), strict=False
            ):
                rationale = self.pool.text(random, shares.RATIONALE_CHARS.draw(random, 1)[0])
                spent = round(random.expovariate(1 / 60), 1)
                handed.append((item, person.pk, "submitted", _LABELLED_AT, _LABELLED_AT, spent))
                labels.append(
                    (_id(random), item, person.pk, said, rationale, spent, guideline)
                    + (_LABELLED_AT, _id(random))
                )
            if state == "disputed" or (state == "settled" and not agree):
                version = int(state == "settled")
                disputes.append((item, _LABELLED_AT, random.getrandbits(62), version))
            if state == "settled":
                origin, decided_by = ("agreed", None) if agree else ("adjudicated", judge)
                verdicts.append(
                    (_id(random), item, run.id, truth, origin, decided_by, _LABELLED_AT)
                    + (run.created_at,)
                )
        self._items.add(items)
        self._labels.add(labels)
        self._assignments.add(handed)
        self._disputes.add(disputes)
        self._verdicts.add(verdicts)

    def finish(self) -> None:
        """Have the next item of anybody get a number that is free."""
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), [StudyItem]):
                cursor.execute(statement)


def _id(random: Random) -> str:
    return UUID(int=random.getrandbits(128), version=4).hex
