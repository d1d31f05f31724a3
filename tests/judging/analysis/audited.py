"""Studies with labels, reference verdicts and evaluations, as plain functions make them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission
from django.utils import timezone

from judging.models import (
    Dispute,
    Evaluation,
    EvaluatorVersion,
    Label,
    ReferenceVerdict,
    Study,
    StudyItem,
    StudyMember,
)
from runs.models import AgentConfiguration, Run, RunStatus, Task, TaskSet, User

SAID: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("tp", "fp"), {"verdict": "passed", "score": 1.0}),
    **dict.fromkeys(("fn", "tn"), {"verdict": "failed", "score": 0.0}),
    **dict.fromkeys(("?s", "?f"), {"verdict": "error", "reason": "needs a judge"}),
}
"""What an evaluator says of a run, by the cell that it falls into; of others nothing."""
YESTERDAY = timezone.now() - timedelta(days=1)
"""Long enough ago that nothing can be taken back any more."""


def person(name: str, *permissions: str) -> User:
    """An account with the named permissions (`judging.view_audit`)."""
    user = User.objects.create_user(username=name, password="long-enough-to-pass")
    for permission in permissions:
        app, codename = permission.split(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app, codename=codename)
        )
    return user


def auditor(name: str = "auditor") -> User:
    """Somebody who may read audits and start evaluations."""
    return person(name, "judging.view_audit", "judging.add_evaluation", "runs.view_run")


def a_task_set() -> TaskSet:
    found, _ = TaskSet.objects.get_or_create(name="shop", version="raw")
    return found


def task(name: str = "task", **fields: Any) -> Task:
    found, _ = Task.objects.get_or_create(
        task_set=a_task_set(), external_id=name, defaults={**_task_fields(name), **fields}
    )
    return found


def _task_fields(name: str) -> dict[str, Any]:
    return {"external_id": name, "goal": f"Goal of {name}", "site": "shopping"}


def agent(name: str = "walker", model: str = "model-x") -> AgentConfiguration:
    digest = hashlib.sha256(f"{name} {model}".encode()).hexdigest()
    found, _ = AgentConfiguration.objects.get_or_create(
        config_hash=digest, defaults={"name": name, "model": model}
    )
    return found


def run(of: Task | None = None, **fields: Any) -> Run:
    return Run.objects.create(**{**_run_fields(of or task(), agent()), **fields})


def _run_fields(of: Task, by: AgentConfiguration) -> dict[str, Any]:
    return {
        "task": of,
        "agent": by,
        "goal": of.goal,
        "status": RunStatus.FINISHED,
        "outcome": Run.Outcome.SUCCESS,
        "source_format": "native",
    }


def evaluator(name: str = "matcher", **fields: Any) -> EvaluatorVersion:
    digest = hashlib.sha256(f"{name} {fields}".encode()).hexdigest()
    found, _ = EvaluatorVersion.objects.get_or_create(
        config_hash=digest,
        defaults={"name": name, "version": "1", "kind": EvaluatorVersion.Kind.MATCHER, **fields},
    )
    return found


def evaluation(of: Run, by: EvaluatorVersion, verdict: str, **fields: Any) -> Evaluation:
    return Evaluation.objects.create(run=of, evaluator=by, verdict=verdict, **fields)


@dataclass
class Audited:
    """A study and what was put into it, in order."""

    study: Study
    items: list[StudyItem] = field(default_factory=list)

    def add(
        self,
        verdict: str | None = None,
        labels: Sequence[tuple[User, str]] = (),
        origin: str = ReferenceVerdict.Origin.AGREED,
        of: Run | None = None,
    ) -> StudyItem:
        """A run with the labels given; settled where there is a reference verdict."""
        number = len(self.items)
        of = of or run(task(f"{self.study.name} task {number}"))
        status = StudyItem.Status.OPEN
        if verdict:
            status = StudyItem.Status.SETTLED
        elif len(labels) >= self.study.labels_per_run:
            status = StudyItem.Status.DISPUTED
        item = StudyItem.objects.create(
            study=self.study, run=of, position=number + 1, status=status, n_labels=len(labels)
        )
        for annotator, success in labels:
            label(item, annotator, success)
        if len({success for _, success in labels}) > 1:
            Dispute.objects.create(item=item, order_seed=number)
        if verdict:
            ReferenceVerdict.objects.create(
                item=item,
                run=of,
                verdict=verdict,
                origin=origin,
                decided_at=YESTERDAY,
                is_authoritative=not of.verdicts.exists(),
                run_created_at=of.created_at,
            )
        self.items.append(item)
        return item


def label(item: StudyItem, annotator: User, success: str, **fields: Any) -> Label:
    return Label.objects.create(
        item=item, annotator=annotator, success=success, submitted_at=YESTERDAY, **fields
    )


def study(name: str = "Garden study", **fields: Any) -> Audited:
    return Audited(Study.objects.create(name=name, **fields))


def member(of: Study, user: User, part: str = StudyMember.Part.ANNOTATOR) -> StudyMember:
    return StudyMember.objects.create(study=of, user=user, part=part)


def judged(audited: Audited, by: EvaluatorVersion, cells: Iterable[str]) -> None:
    """One settled run for each cell, judged so by the evaluator: tp, fn, tn, fp, or `?` with
    the reference verdict's first letter (`?s`) for no verdict and `-s` for no evaluation at all.

    In one statement a table, however many there are.
    """
    cells = list(cells)
    first, of = len(audited.items), audited.study
    task_set, walker = a_task_set(), agent()
    tasks = Task.objects.bulk_create(
        Task(task_set=task_set, **_task_fields(f"{of.name} task {number}"))
        for number in range(first, first + len(cells))
    )
    runs = Run.objects.bulk_create(Run(**_run_fields(each, walker)) for each in tasks)
    items = StudyItem.objects.bulk_create(
        StudyItem(study=of, run=each, position=position, status=StudyItem.Status.SETTLED)
        for position, each in enumerate(runs, start=first + 1)
    )
    ReferenceVerdict.objects.bulk_create(
        ReferenceVerdict(
            item=item,
            run=item.run,
            verdict="success" if cell in ("tp", "fn", "?s", "-s") else "failure",
            origin=ReferenceVerdict.Origin.AGREED,
            decided_at=YESTERDAY,
            is_authoritative=True,
            run_created_at=item.run.created_at,
        )
        for item, cell in zip(items, cells, strict=True)
    )
    Evaluation.objects.bulk_create(
        Evaluation(run=each, evaluator=by, **SAID[cell])
        for each, cell in zip(runs, cells, strict=True)
        if cell in SAID
    )
    audited.items += items
