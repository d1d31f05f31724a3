"""Audits of a million evaluations against the bare aggregate, and agreement of 40,000 labels.

Compared by processor time, of this process and of the database's.
"""

from functools import partial

from django.db import connection
from django.test import Client

from judging.analysis.audits.people.agreement import agreement_of
from judging.models import Evaluation, Label, ReferenceVerdict, Study, StudyItem
from runs.models import AgentConfiguration, Run, RunStatus, Task
from tests.benchmarks.clock import tell, work_side_by_side
from tests.benchmarks.goals import record
from tests.judging.analysis import audited

EVALUATORS = 10
SIZES = (1_000, 100_000, 1_000_000)
"""Evaluations, of ten evaluators."""
GOAL = 2.0
"""The page takes at most so many times as long as the bare aggregate, at a million."""
TASKS = 812
LABELLED = 20_000
BARE = """
    SELECT e.evaluator_id, e.verdict, v.verdict, COUNT(*) FROM judging_studyitem i
    JOIN judging_referenceverdict v ON v.item_id = i.id
    JOIN judging_evaluation e ON e.run_id = i.run_id AND e.is_current
    WHERE i.study_id = %s GROUP BY 1, 2, 3
"""
BARE_LABELS = """
    SELECT l.annotator_id, l.item_id, l.success FROM judging_label l
    JOIN judging_studyitem i ON i.id = l.item_id
    WHERE i.study_id = %s ORDER BY l.item_id
"""
BATCH = 5_000


def run() -> None:
    client = Client()
    client.force_login(audited.auditor("benchmark auditor"))
    if connection.vendor == "postgresql":  # whose helpers' work would be counted nowhere
        _query("SET max_parallel_workers_per_gather = 0")
    for size in SIZES:
        study = study_of(f"audit of {size}", size // EVALUATORS)
        judge(study)
        for part in ("", "figures/", "triangle/", "compare/", "pairs/", "people/"):
            ours, bare = work_side_by_side(
                partial(_get, client, f"/studies/{study.pk}/audit/{part}"),
                partial(_query, BARE, study.pk),
                times=3,
            )
            name = f"audit of {size} evaluations, page /{part}"
            tell(name, ours, bare)
            if not part and size == max(SIZES):
                record(name, ours / bare, goal=GOAL, unit="times the bare aggregate")
    study = study_of("labelled", LABELLED)
    _label(study)
    ours, bare = work_side_by_side(
        partial(agreement_of, study), partial(_query, BARE_LABELS, study.pk), times=3
    )
    tell(f"agreement of {2 * LABELLED} labels", ours, bare)


def study_of(name: str, runs: int) -> Study:
    """A study of so many settled runs over the tasks of WebArena's number."""
    study: Study = audited.study(name).study
    tasks = [
        audited.task(f"benchmark {n}", template=str(n % 240), evaluation_kind="string_match")
        for n in range(TASKS)
    ]
    agent = audited.agent()
    for start in range(0, runs, BATCH):
        numbers = range(start, min(start + BATCH, runs))
        made = Run.objects.bulk_create(_run(tasks[n % TASKS], agent) for n in numbers)
        items = StudyItem.objects.bulk_create(
            StudyItem(study=study, run=run, position=n, status="settled", n_labels=2)
            for n, run in zip(numbers, made, strict=True)
        )
        ReferenceVerdict.objects.bulk_create(
            ReferenceVerdict(
                item=item,
                run_id=item.run_id,
                verdict="success" if item.position % 2 else "failure",
                origin="agreed",
                decided_at=audited.YESTERDAY,
                run_created_at=item.run.created_at,
            )
            for item in items
        )
    return study


def _run(task: Task, agent: AgentConfiguration) -> Run:
    return Run(
        task=task,
        agent=agent,
        goal=task.goal,
        status=RunStatus.FINISHED,
        outcome="success",
        source_format="native",
        final_answer="It is open. " * 20,
    )


def judge(study: Study) -> None:
    """Every run by every evaluator: mostly right, each wrong on other runs, some undecided."""
    details = {"checks": [{"name": "must_include", "verdict": "passed", "expected": "open " * 20}]}
    for number in range(EVALUATORS):
        version = audited.evaluator(f"evaluator {number} of {study.name}")
        items = StudyItem.objects.filter(study=study).values_list("run", "position")
        for start in range(0, items.count(), BATCH):
            Evaluation.objects.bulk_create(
                Evaluation(
                    run_id=run, evaluator=version, details=details, **_said(position, number)
                )
                for run, position in items[start : start + BATCH]
            )


def _said(position: int, evaluator: int) -> dict[str, str]:
    chance = (position * 7919 + evaluator * 104_729) % 100
    if chance < 3:
        return {"verdict": "error", "reason": "needs a judge"}
    right = chance > 20
    return {"verdict": "passed" if (position % 2 == 1) == right else "failed"}


def _label(study: Study) -> None:
    people = [audited.person(f"labeller {n}") for n in range(2)]
    items = StudyItem.objects.filter(study=study)
    labels = (
        Label(
            item=item,
            annotator=person,
            success="success" if (item.position * 31 + n * item.position % 11) % 3 else "failure",
            submitted_at=audited.YESTERDAY,
        )
        for item in items
        for n, person in enumerate(people)
    )
    Label.objects.bulk_create(labels, batch_size=BATCH)


def _get(client: Client, address: str) -> None:
    answer = client.get(address)
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answers {answer.status_code}")


def _query(sql: str, *arguments: int) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        found: list[tuple[object, ...]] = cursor.fetchall() if cursor.description else []
        return found
