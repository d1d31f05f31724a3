"""Putting the demo into an empty installation: accounts, runs, two studies, labels.

Everything goes through the services that people's own clicks go through, so the demo holds
whatever they hold. The runs were recorded by this project's own agents in a real browser; the
labels were written for the demo. The judges are the real ones, but a stub of fixed rules answers
them, and everything that it decides is marked so.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from judging.analysis.causes.services import Tagging, tag_errors
from judging.demo import (
    GUIDELINES,
    MILESTONES_FILE,
    RUNS_FILE,
    STUDIES,
    TASK_PATCH_FILE,
    read_plan,
    recovery,
)
from judging.demo.stub_judge import MODEL, StubJudge
from judging.evaluating.evaluating import evaluate_study, version_of
from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import evaluator_named, predefined_evaluators
from judging.models import (
    Assignment,
    Cause,
    Dispute,
    Repair,
    Study,
    StudyItem,
    StudyMember,
    Success,
)
from judging.studies.access import Role, create_user
from judging.studies.disputes.services import decide
from judging.studies.labels.services import Submission, submit_label
from judging.studies.protocols import DEFAULT_CAUSES
from judging.studies.services import Protocol, create_study, set_member
from runs.catalogue.milestones.definitions import MilestoneFileError, read_file
from runs.catalogue.milestones.services import UnknownTasksError, import_milestones
from runs.catalogue.patches.changes import PatchFileError, read_patch
from runs.catalogue.patches.services import TaskPatchError, apply_patch
from runs.imports.storing import ImportedRun, import_runs
from runs.models import Experiment, Run, Task, User
from runs.storage.blobs import import_bounds
from webagent.trajectory.reading import open_runs

ACCOUNTS = {
    "annotator1": Role.ANNOTATOR,
    "annotator2": Role.ANNOTATOR,
    "adjudicator": Role.ADJUDICATOR,
    "engineer": Role.ENGINEER,
}
SAMPLE_SEED = 20261121
TAXONOMY = [{"key": key, "name": name} for key, name in DEFAULT_CAUSES.items()]

Entry = dict[str, Any]


class DemoError(Exception):
    """The demo cannot be loaded; nothing of it is left half-done but imported runs."""


def demo_password(name: str) -> str:
    """The password of a demo account: no secret, and printed at every start."""
    return f"demo-{name}"


def is_loaded() -> bool:
    """Whether the demo's studies are here."""
    return Study.objects.filter(is_demo=True).exists()


def load_demo(*, on_run: Callable[[int], None] = lambda n: None) -> list[Study]:
    """The demo's studies, with everything around them. Import first, then one transaction.

    The experiment comes with its policy, which must be there before its runs are.

    Raises:
        DemoError: the shipped file does not hold what the plan says, or its tasks are not those
            that the patch was made for.
    """
    recovery.demo_policy()
    for number, _run in enumerate(_import_shipped_runs(), start=1):
        on_run(number)
    _set_milestones()
    _patch_tasks()
    with transaction.atomic():
        people = {name: _account(name, role) for name, role in ACCOUNTS.items()}
        studies = [_study(key, people) for key in STUDIES]
        Experiment.objects.filter(name=recovery.NAME).update(
            description=recovery.DESCRIPTION, created_by=people["engineer"]
        )
    for key, study in zip(STUDIES, studies, strict=True):
        evaluators = _evaluators(key)
        for evaluator in evaluators:
            for _tally in evaluate_study(study=study, evaluator=evaluator):
                pass
        _tag_errors(study, evaluators, people["engineer"])
    return studies


def _import_shipped_runs() -> Iterator[ImportedRun]:
    for file in (RUNS_FILE, recovery.RECOVERY_FILE):
        with open_runs(file, bounds=import_bounds(), label=file.name) as source:
            for item in import_runs(source):
                if not isinstance(item, ImportedRun):
                    raise DemoError(f"the shipped runs are damaged: {item.to_json()}")
                yield item


def _set_milestones() -> None:
    """How far a run of the library's tasks came; one task has none, one needs a person to say."""
    try:
        file = read_file(MILESTONES_FILE.read_bytes())
        named = {"task_set__name": file.task_set.name, "task_set__version": file.task_set.version}
        import_milestones(file=file, tasks=Task.objects.filter(**named))
    except (MilestoneFileError, UnknownTasksError) as error:
        raise DemoError(str(error)) from error


def _patch_tasks() -> None:
    """The repaired version of the tasks, which the evaluator `after` judges by."""
    try:
        apply_patch(patch=read_patch(TASK_PATCH_FILE))
    except (PatchFileError, TaskPatchError) as error:
        raise DemoError(str(error)) from error


def _evaluators(key: str) -> list[Evaluator]:
    """Those that need no model, then those that ask one: the stub answers them."""
    asking = [
        evaluator_named(name, model=MODEL, language_model=StubJudge())
        for name in STUDIES[key].asking
    ]
    return [*predefined_evaluators(), *asking]


def _account(name: str, role: Role) -> User:
    found = User.objects.filter(username=name).first()
    return found or create_user(name=name, role=role, password=demo_password(name), for_demo=True)


def _study(key: str, people: dict[str, User]) -> Study:
    entries = [(entry, _run_of(entry)) for entry in read_plan() if entry["study"] == key]
    study = create_study(
        name=STUDIES[key].name,
        description=STUDIES[key].description,
        run_ids=[run.pk for _entry, run in entries],
        protocol=Protocol(taxonomy=TAXONOMY),
        guidelines=GUIDELINES,
        created_by=people["engineer"],
        seed=SAMPLE_SEED,
        is_demo=True,
    )
    for name in ("annotator1", "annotator2"):
        set_member(study=study, user=people[name], part=StudyMember.Part.ANNOTATOR)
    set_member(study=study, user=people["adjudicator"], part=StudyMember.Part.ADJUDICATOR)
    for entry, run in entries:
        _judge(study.items.get(run=run), entry, people)
    return study


def _tag_errors(study: Study, evaluators: Sequence[Evaluator], user: User) -> None:
    """Why evaluators are wrong about some runs, as an auditor tags it; others are left to do."""
    versions = {evaluator.identity.name: version_of(evaluator) for evaluator in evaluators}
    items = {item.run_id: item for item in study.items.all()}
    tagged = [entry for entry in read_plan() if "tags" in entry]
    for entry in tagged:
        item = items.get(_run_of(entry).pk)
        if item is None:
            continue
        for tag in entry["tags"]:
            tagging = Tagging(
                causes=frozenset(map(Cause, tag["causes"])),
                repair=Repair(tag["repair"]),
                note=tag["note"],
            )
            for name in tag["evaluators"]:
                tag_errors(
                    user=user,
                    study=study,
                    evaluator=versions[name],
                    item_ids=[item.pk],
                    tagging=tagging,
                )


def _run_of(entry: Entry) -> Run:
    found = Run.objects.latest_attempts().filter(
        task__external_id=entry["task"],
        agent__name=entry["agent"],
        seed=entry["seed"],
        experiment__name=entry["experiment"],
    )
    for run in found.select_related("agent"):
        if entry["config"].items() <= run.agent.config.items():
            return run
    raise DemoError(f"no shipped run is {entry['task']} by {entry['agent']}")


def _judge(item: StudyItem, entry: Entry, people: dict[str, User]) -> None:
    """Labels as the annotators submit them, and the decision where they differ."""
    for name, label in entry.get("labels", {}).items():
        _label(item, people[name], label)
    if "decision" in entry:
        dispute = Dispute.objects.get(item=item)
        decide(
            dispute=dispute,
            adjudicator=people["adjudicator"],
            version=dispute.version,
            **entry["decision"],
        )


def _label(item: StudyItem, user: User, label: Entry) -> None:
    now = timezone.now()
    assignment = Assignment.objects.create(
        item=item, user=user, opened_at=now, leased_until=now + timedelta(hours=1)
    )
    fields = label | {"success": Success(label["success"])}
    submission = Submission(**fields, key=uuid.uuid4().hex, seconds=0)
    submit_label(assignment=assignment, user=user, submission=submission)
