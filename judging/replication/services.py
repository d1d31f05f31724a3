"""Taking up a study file, and the files that it names: runs, labels with verdicts, splits of tasks,
causes of evaluators' errors.
"""

import csv
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.population import Shown, items_in_cells
from judging.analysis.causes.tags import Tagging, tag_errors
from judging.models import Cause, EvaluatorVersion, Repair, Replication, ReplicationPart, Study
from judging.portability.judgements.label_files import import_labels
from judging.replication.sources import check_reports
from judging.replication.study_file import StudyFile, read_study_file
from judging.replication.study_parts import StudyFileError
from judging.studies.imported import Places, StudyNameError
from runs.accounts.audit_log import record_entry
from runs.catalogue.tasks.rows import note_split
from runs.imports.session import import_bounds
from runs.imports.storing import import_runs
from runs.models import Experiment, Task, User
from runs.models.audit_log import kind
from webagent.trajectory.bundles import same_task, spellings
from webagent.trajectory.intake import Problem
from webagent.trajectory.reading import open_runs

REPLICATION_MADE = kind("replication.made", gettext_lazy("added a study file"))
REPLICATION_CHANGED = kind("replication.changed", gettext_lazy("changed a study file"))
REPLICATION_STARTED = kind("replication.started", gettext_lazy("started a replication"))

CAUSE_COLUMNS = ("task", "evaluator", "causes", "repair")
"""Of a file of causes; `note` and `by` may be there too. Those of the report of tagged errors."""
SPLIT_COLUMNS = ("task_id", "split")
"""Of a file of splits, as AgentRewardBench publishes its own."""
TAGGED_BY = "replication"
"""Who tagged, where a file of causes says nobody."""


@transaction.atomic
def take_up(*, content: bytes, file_name: str, user: User | None) -> Replication:
    """The replication of a study file: a new one, or the one that has its name.

    Tables, published figures and words of one that has begun may change; what it runs may not.

    Raises:
        StudyFileError: it is no study file, names no report, or is another study than the one begun
            under its name.
    """
    file_name = PurePath(file_name).name[:200]
    file = read_study_file(content, file_name)
    check_reports(file, file_name)
    said = {
        "file_name": file_name,
        "content": content.decode(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    there = Replication.objects.select_for_update().filter(name=file.name).first()
    if there is None:
        there = _new(file, said, user)
    elif there.sha256 != said["sha256"]:
        _change(there, file, said, user)
    link(there, file)
    return there


def _change(there: Replication, file: StudyFile, said: dict[str, str], user: User | None) -> None:
    _demand_same_work(there, file, said["file_name"])
    Replication.objects.filter(pk=there.pk).update(**said)
    record_entry(
        REPLICATION_CHANGED,
        about=there,
        words=there.name,
        before=there.sha256[:12],
        after=said["sha256"][:12],
        user=user,
    )
    there.refresh_from_db()


def link(replication: Replication, file: StudyFile) -> None:
    """Note which experiments and studies the file means by name: whatever they are called later."""
    experiments = {key: arm.experiment for key, arm in file.arms.items() if arm.experiment}
    studies = {key: each.study for key, each in file.judging.items() if each.study}
    if replication.started_at is None:
        unlinked = replication.parts.exclude(kind=ReplicationPart.Kind.LEARNING)
        unlinked.exclude(key__in={*experiments, *studies}).delete()
    parts, kinds = replication.parts, ReplicationPart.Kind
    found = Experiment.objects.in_bulk(set(experiments.values()), field_name="name")
    for key, name in experiments.items():
        if row := found.get(name):
            parts.update_or_create(kind=kinds.EXPERIMENT, key=key, defaults={"experiment": row})
    there = Study.objects.in_bulk(set(studies.values()), field_name="name")
    for key, name in studies.items():
        if study := there.get(name):
            parts.update_or_create(kind=kinds.JUDGING, key=key, defaults={"study": study})


def _new(file: StudyFile, said: dict[str, str], user: User | None) -> Replication:
    try:
        with transaction.atomic():
            made = Replication.objects.create(name=file.name, created_by=user, **said)
    except IntegrityError:
        reason = _("somebody takes up this name at this moment; try again")
        raise StudyFileError(said["file_name"], "name", reason) from None
    record_entry(REPLICATION_MADE, about=made, words=made.name, after=made.sha256[:12], user=user)
    return made


def _demand_same_work(there: Replication, file: StudyFile, file_name: str) -> None:
    """Raises StudyFileError where something has begun that the file would not have run."""
    if there.started_at is None:
        return
    try:
        before = read_study_file(there.content.encode(), there.file_name)
    except StudyFileError as error:
        reason = _("what has begun under this name cannot be read here (%(why)s)")
        raise StudyFileError(file_name, "name", reason % {"why": error}) from None
    if before.work_hash != file.work_hash:
        reason = _(
            "%(name)s has begun with other arms, tasks or judging; give the file another name"
        )
        raise StudyFileError(file_name, "name", reason % {"name": there.name})


def import_run_files(paths: Sequence[Path], user: User | None) -> None:
    """Import runs; those that are here stay as they are.

    Raises:
        StudyFileError: a run of them cannot be taken.
    """
    for path in paths:
        with open_runs(path, bounds=import_bounds(), label=path.name) as found:
            for item in import_runs(found, user=user):
                if isinstance(item, Problem):
                    raise StudyFileError(path.name, item.field, item.reason)


def import_label_files(paths: Sequence[Path], name: str, user: User | None) -> Study:
    """The closed study of files of labels and verdicts; runs that are not here come as stubs.

    Raises:
        StudyFileError: a row cannot be taken; nothing of its file is stored then.
    """
    for path in paths:
        try:
            with path.open("rb") as file:
                report = import_labels(file, study=name, user=user, makes_stubs=True)
        except StudyNameError as error:
            raise StudyFileError(path.name, "study", str(error)) from None
        if report.bad:
            first = report.listed[0]
            where = f"line {first.line}, {first.field or 'row'}"
            raise StudyFileError(path.name, where, first.reason)
    return Study.objects.get(name=name)


@transaction.atomic
def import_splits(path: Path, study: Study) -> None:
    """Note the splits of a study's tasks that a file names by their ids, with or without the set.

    Columns: task_id, split; others are left aside, and so are tasks of no run of the study.

    Raises:
        StudyFileError: it is no such file, or a task came in with another split.
    """
    splits = {same_task(row["task_id"]): row["split"] for _, row in _rows(path, SPLIT_COLUMNS)}
    tasks = Task.objects.filter(runs__study_items__study=study).distinct()
    for task in tasks.select_related("task_set"):
        known = spellings(task.task_set.name, task.external_id) & splits.keys()
        for split in {splits[each] for each in known} - {""}:
            try:
                note_split(task, split)
            except ValueError as error:
                raise StudyFileError(path.name, task.external_id, str(error)) from None


@transaction.atomic
def import_causes(path: Path, study: Study, user: User | None) -> None:
    """Tag errors of evaluators as a file says, all of its rows or none.

    Columns: task, evaluator, causes (between semicolons or commas), repair; note and by if given.

    Raises:
        StudyFileError: a row names no error of that evaluator, or a cause that there is not.
    """
    places = Places()
    for line, row in _rows(path, CAUSE_COLUMNS):
        evaluator = _evaluator(path, line, study, row["evaluator"])
        errors = items_in_cells(study, evaluator, [Shown.FN, Shown.FP])
        items = errors.filter(run__task__external_id=row["task"]).values_list("pk", flat=True)
        if not items:
            words = _("no error of %(evaluator)s") % {"evaluator": row["evaluator"]}
            raise StudyFileError(path.name, f"line {line}, task", words)
        tag_errors(
            user=user or places.person(row.get("by") or TAGGED_BY),
            study=study,
            evaluator=evaluator,
            item_ids=list(items),
            tagging=_tagging(path, line, row),
        )


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise StudyFileError(path.name, "", "is no UTF-8 text") from None
    reader = csv.DictReader(text.splitlines())
    if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
        raise StudyFileError(path.name, missing[0], "no such column")
    for row in reader:
        yield reader.line_num, {key: value or "" for key, value in row.items() if key}


def _evaluator(path: Path, line: int, study: Study, name: str) -> EvaluatorVersion:
    found = EvaluatorVersion.objects.filter(
        evaluations__run__study_items__study=study, evaluations__is_current=True
    ).distinct()
    fitting = [each for each in found if name in (each.name, str(each))]
    if len(fitting) != 1:
        words = _("%(n)s evaluators of this study have that name") % {"n": len(fitting)}
        raise StudyFileError(path.name, f"line {line}, evaluator", words)
    return fitting[0]


def _tagging(path: Path, line: int, row: dict[str, str]) -> Tagging:
    named = [each.strip() for each in row["causes"].replace(";", ",").split(",") if each.strip()]
    try:
        return Tagging(
            causes=frozenset(Cause(each) for each in named),
            repair=Repair(row["repair"].strip()),
            note=row.get("note", "").strip(),
        )
    except ValueError as error:
        raise StudyFileError(path.name, f"line {line}", str(error)) from None
