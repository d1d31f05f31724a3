"""Putting the demo into an empty installation: accounts, runs, a study, labels.

Everything goes through the services that people's own clicks go through, so the demo holds
whatever they hold. The runs were recorded by this project's own agents in a real browser; the
labels were written for the demo. The judges are the real ones, but a stub of fixed rules answers
them, and everything that it decides is marked so.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from judging.analysis.causes.tags import Tagging, tag_errors
from judging.demo import (
    ASKING,
    DESCRIPTION,
    EXPERIMENT,
    GUIDELINES,
    MILESTONES_FILE,
    NAME,
    RUNS_FILE,
    TASK_PATCH_FILE,
    DemoError,
    Entry,
    hinted,
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
from runs.catalogue.patches.files import PatchFileError, read_patch
from runs.catalogue.patches.services import TaskPatchError, apply_patch
from runs.imports.session import import_bounds
from runs.imports.storing import ImportedRun, import_runs
from runs.models import Experiment, Run, Task, User
from webagent.trajectory.reading import open_runs

ACCOUNTS = {
    "annotator1": Role.ANNOTATOR,
    "annotator2": Role.ANNOTATOR,
    "adjudicator": Role.ADJUDICATOR,
    "engineer": Role.ENGINEER,
}
WRONG_MOST = ("webarena-strict", "before")
"""Whose error a tag explains where it names no evaluators."""
ANNOTATORS = ("annotator1", "annotator2")
SAMPLE_SEED = 20261121
Runs = list[tuple[Entry, Run]]
SHIPPED = {
    recovery.NAME: recovery.RECOVERY_FILE,
    hinted.NAME: hinted.HINTS_FILE,
    EXPERIMENT: RUNS_FILE,
}
"""What is shipped, by the experiment; the study's runs last, so that lists begin with them."""
TAXONOMY = [{"key": key, "name": name} for key, name in DEFAULT_CAUSES.items()]


def demo_password(name: str) -> str:
    """The password of a demo account: no secret, and printed at every start."""
    return f"demo-{name}"


def n_shipped() -> int:
    """How many runs there are to import, attempts that were repeated left out."""
    entries = read_plan()
    return len(entries) + recovery.N_RUNS + hinted.n_runs(entries)


def is_loaded() -> bool:
    return Study.objects.filter(is_demo=True).exists()


def load_demo(*, on_run: Callable[[int], None] = lambda n: None) -> Study:
    """The demo's study, with everything around it. Import first, then one transaction.

    Of two that load it at once, the second leaves study and all after it to the first.

    The experiment comes with its policy, which must be there before its runs are.

    Raises:
        DemoError: the shipped file does not hold what the plan says, or its tasks are not those
            that the patch was made for.
    """
    recovery.demo_policy()
    for number, _run in enumerate(import_shipped(*SHIPPED), start=1):
        on_run(number)
    _set_milestones()
    _patch_tasks()
    runs = shipped_runs()
    with transaction.atomic():
        Experiment.objects.select_for_update().get(name=EXPERIMENT)
        if there := Study.objects.filter(is_demo=True).first():
            return there
        people = make_accounts()
        study = _study(runs, people)
        for part in (recovery, hinted):
            Experiment.objects.filter(name=part.NAME).update(
                description=part.DESCRIPTION, created_by=people["engineer"]
            )
    evaluators = _evaluators()
    for evaluator in evaluators:
        evaluate_study(study, evaluator)
    _tag_errors(study, runs, evaluators, people["engineer"])
    hinted.write_lessons(runs, people["engineer"])
    hinted.complete(runs)
    return study


def import_shipped(*experiments: str) -> Iterator[ImportedRun]:
    """Import the runs of these experiments.

    Raises:
        DemoError: a file is damaged.
    """
    for file in map(SHIPPED.__getitem__, experiments):
        with open_runs(file, bounds=import_bounds(), label=file.name) as source:
            for item in import_runs(source):
                if not isinstance(item, ImportedRun):
                    raise DemoError(f"the shipped runs are damaged: {item.to_json()}")
                yield item


def _set_milestones() -> None:
    """How far a run came; some tasks have none, one needs a person to say."""
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


def _evaluators() -> list[Evaluator]:
    """Those that need no model, then those that ask one: the stub answers them."""
    asking = [evaluator_named(name, model=MODEL, language_model=StubJudge()) for name in ASKING]
    return [*predefined_evaluators(), *asking]


def make_accounts() -> dict[str, User]:
    """The four accounts of the demo, whose passwords everybody knows; those there are stay."""
    return {name: _account(name, role) for name, role in ACCOUNTS.items()}


def _account(name: str, role: Role) -> User:
    found = User.objects.filter(username=name).first()
    return found or create_user(name=name, role=role, password=demo_password(name), for_demo=True)


def _study(runs: Runs, people: dict[str, User]) -> Study:
    study = create_study(
        name=NAME,
        description=DESCRIPTION,
        run_ids=[run.pk for _entry, run in runs],
        protocol=Protocol(taxonomy=TAXONOMY),
        guidelines=GUIDELINES,
        created_by=people["engineer"],
        seed=SAMPLE_SEED,
        is_demo=True,
    )
    for name in ANNOTATORS:
        set_member(study=study, user=people[name], part=StudyMember.Part.ANNOTATOR)
    set_member(study=study, user=people["adjudicator"], part=StudyMember.Part.ADJUDICATOR)
    for entry, run in runs:
        _judge(study.items.get(run=run), entry, people)
    return study


def _tag_errors(study: Study, runs: Runs, evaluators: Sequence[Evaluator], user: User) -> None:
    """Why evaluators are wrong about some runs, as an auditor tags it; others are left to do."""
    versions = {evaluator.identity.name: version_of(evaluator) for evaluator in evaluators}
    items = {item.run_id: item for item in study.items.all()}
    for entry, run in runs:
        item = items[run.pk]
        for tag in entry.tags:
            tagging = Tagging(
                causes=frozenset(map(Cause, tag["causes"])),
                repair=Repair(tag["repair"]),
                note=tag["note"],
            )
            for name in tag.get("evaluators", WRONG_MOST):
                tag_errors(
                    user=user,
                    study=study,
                    evaluator=versions[name],
                    item_ids=[item.pk],
                    tagging=tagging,
                )


def shipped_runs() -> Runs:
    """Every entry of the plan with its run.

    Raises:
        DemoError: there is none.
    """
    runs = Run.objects.latest_attempts().filter(experiment__name=EXPERIMENT)
    found = {
        (run.task.external_id, run.agent.name, run.agent.config.get("style", "")): run
        for run in runs.select_related("agent", "task")
    }
    try:
        return [(entry, found[entry.name, entry.agent, entry.style]) for entry in read_plan()]
    except KeyError as error:
        raise DemoError(f"no shipped run is {error}") from None


def _judge(item: StudyItem, entry: Entry, people: dict[str, User]) -> None:
    """Labels as the annotators submit them, and the decision where they differ."""
    for name in ANNOTATORS:
        if label := entry.label_of(name):
            _label(item, people[name], label)
    if entry.decision:
        dispute = Dispute.objects.get(item=item)
        decide(dispute=dispute, adjudicator=people["adjudicator"], **entry.decision)


def _seconds(run: Run, label: dict[str, Any]) -> float:
    """How long such a label takes: the goal read, each step seen, the reason written.

    A reckoning, which the study's description owns up to: nobody sat there with a watch.
    """
    words = len(str(label.get("rationale", "")).split())
    return 12.0 + 4.0 * run.n_steps + 1.5 * words


def _label(item: StudyItem, user: User, label: dict[str, Any]) -> None:
    now = timezone.now()
    seconds = _seconds(item.run, label)
    assignment = Assignment.objects.create(
        item=item,
        user=user,
        opened_at=now - timedelta(seconds=seconds),
        leased_until=now + timedelta(hours=1),
    )
    fields = label | {"success": Success(label["success"])}
    submission = Submission(**fields, key=uuid.uuid4().hex, seconds=seconds)
    submit_label(assignment=assignment, user=user, submission=submission)
