"""A whole replication as one zip: its file, runs, studies and what they rest on, with each hash.

Elsewhere it gives the same report: everything that figures are computed from comes along.
"""

import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self
from uuid import UUID

from django.db import transaction
from django.db.models import Model, QuerySet
from pydantic import AliasChoices, Field, JsonValue, ValidationError

from judging.models import Replication, Study
from judging.portability.study_bundles.reading import BundleError
from judging.portability.study_bundles.services import import_study, write_study
from judging.replication.reports import programs_of
from judging.replication.services import import_run_files, take_up
from judging.replication.sources import ArmRuns, Kind, Sources
from judging.replication.study_parts import Part, StudyFileError
from runs.exports.services import bundles_of
from runs.models import Experiment, HintSet, LearningJob, RetryPolicy, Run
from runs.models.experiments import HINTS_KEY
from webagent.trajectory.formats.native.writer import ZipSink, write_native
from webagent.trajectory.values import field_errors

FORMAT = "crosscheck-replication/1"
HEAD, FILE, RUNS = "replication.json", "study.toml", "runs.zip"
LARGEST_HEAD = 16_000_000


class ExperimentPart(Part):
    """An experiment: its plan, and of each arm a run by which its configuration is known."""

    key: str
    name: str
    plan: dict[str, JsonValue]
    arms: dict[str, str]


class JudgingPart(Part):
    key: str
    study: str
    member: str


class _RowPart(Part):
    """What is told of a row, by its columns."""

    @classmethod
    def of(cls, row: Model) -> Self:
        return cls.model_validate(row, from_attributes=True)


class PolicyPart(_RowPart):
    name: str
    version: int
    description: str
    body: dict[str, JsonValue]
    body_hash: str


class HintSetPart(_RowPart):
    key: str
    job: Annotated[UUID, Field(validation_alias=AliasChoices("job_id", "job"))]
    level: str
    relatedness: str
    method: str


class Head(Part):
    """`replication.json`: what the bundle holds, made by which programs, and every file's hash."""

    format: Annotated[str, Field(pattern=f"^{FORMAT}$")]
    name: str
    file_name: str
    programs: dict[str, str]
    files: dict[str, str]
    experiments: tuple[ExperimentPart, ...] = ()
    judging: tuple[JudgingPart, ...] = ()
    policies: tuple[PolicyPart, ...] = ()
    hint_sets: tuple[HintSetPart, ...] = ()


def write_bundle(path: Path, replication: Replication) -> Head:
    """Write the whole replication.

    Raises:
        OSError, BlobError: it cannot be written, or a file of a run is missing in the store.
    """
    sources = Sources(replication)
    experiments = {part.key: part.experiment for part in sources.parts if part.experiment}
    runs = Run.objects.filter(experiment__in=list(experiments.values()))
    policies = RetryPolicy.objects.filter(runs__in=runs)
    with tempfile.TemporaryDirectory(prefix="crosscheck-") as scratch:
        folder = Path(scratch)
        members = {FILE: folder / FILE, RUNS: folder / RUNS}
        members[FILE].write_bytes(replication.content.encode())
        with zipfile.ZipFile(members[RUNS], "w") as archive:
            write_native(ZipSink(archive), bundles_of(runs.order_by("pk")))
        judging = []
        for number, (key, study) in enumerate(sources.studies.items(), start=1):
            member = f"study-{number}.zip"
            members[member] = folder / member
            with members[member].open("wb") as file:
                write_study(file, study)
            judging.append(JudgingPart(key=key, study=study.name, member=member))
        head = Head(
            format=FORMAT,
            name=replication.name,
            file_name=replication.file_name,
            programs=programs_of(replication),
            files={name: _hash(each) for name, each in members.items()},
            experiments=tuple(_experiment(*each, sources) for each in experiments.items()),
            judging=tuple(judging),
            policies=tuple(map(PolicyPart.of, policies.distinct())),
            hint_sets=tuple(map(HintSetPart.of, _hint_sets(runs))),
        )
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(HEAD, head.model_dump_json(indent=1))
            for name, each in members.items():
                archive.write(each, name)
    return head


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _experiment(part: str, experiment: Experiment, sources: Sources) -> ExperimentPart:
    arms: dict[str, str] = {}
    for key, runs in sources.arms.items():
        if isinstance(runs, ArmRuns) and runs.experiment == experiment:
            acted = Run.objects.filter(experiment=experiment, agent=runs.agent)
            known = acted.filter(content_hash__gt="").order_by("pk")
            if first := known.values_list("content_hash", flat=True).first():
                arms[key] = str(first)
    return ExperimentPart(key=part, name=experiment.name, plan=experiment.plan, arms=arms)


def _hint_sets(runs: Any) -> QuerySet[HintSet]:
    keys = runs.order_by().values(f"agent__config__{HINTS_KEY}")
    names = {row[f"agent__config__{HINTS_KEY}"] for row in keys.distinct()}
    return HintSet.objects.filter(key__in=[each for each in names if each]).order_by("key")


def import_bundle(path: Path) -> Replication:
    """Store what is missing of a bundle; twice is as good as once.

    Raises:
        StudyFileError: it is damaged, or something in it cannot be taken.
    """
    with _opened(path) as (head, folder):
        for policy in head.policies:
            RetryPolicy.objects.get_or_create(
                name=policy.name, version=policy.version, defaults=policy.model_dump()
            )
        import_run_files([folder / RUNS], None)
        for each in head.judging:
            try:
                import_study(folder / each.member)
            except BundleError as error:
                raise StudyFileError(path.name, each.member, str(error)) from None
        return _take_up(head, (folder / FILE).read_bytes())


@transaction.atomic
def _take_up(head: Head, content: bytes) -> Replication:
    replication = take_up(content=content, file_name=head.file_name, user=None)
    if not replication.made_elsewhere:
        replication.made_elsewhere = {"programs": head.programs}
        replication.started_at = replication.started_at or replication.created_at
        replication.ended_at = replication.ended_at or replication.created_at
        replication.save()
    for hint_set in head.hint_sets:
        if LearningJob.objects.filter(pk=hint_set.job).exists():
            said = hint_set.model_dump(exclude={"key", "job"}) | {"job_id": hint_set.job}
            HintSet.objects.get_or_create(key=hint_set.key, defaults=said)
    for each in head.experiments:
        experiment = Experiment.objects.filter(name=each.name).first()
        if experiment is None:
            continue
        if not experiment.plan:
            experiment.plan = each.plan
            experiment.save(update_fields=["plan"])
        rows = Run.objects.filter(experiment=experiment).select_related("agent")
        agents = {row.content_hash: row.agent.config_hash for row in rows.defer("record")}
        configurations = {arm: agents[run] for arm, run in each.arms.items() if run in agents}
        replication.parts.update_or_create(
            kind=Kind.EXPERIMENT,
            key=each.key,
            defaults={"experiment": experiment, "configurations": configurations},
        )
    for part in head.judging:
        study = Study.objects.get(name=part.study)
        replication.parts.update_or_create(
            kind=Kind.JUDGING, key=part.key, defaults={"study": study}
        )
    return replication


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Head, Path]]:
    """The head and a folder with the files that it names, each as its hash says.

    Raises:
        StudyFileError: it is no bundle, or a file was changed.
    """
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            with archive.open(HEAD) as file:
                head = Head.model_validate_json(file.read(LARGEST_HEAD))
            for name, wanted in head.files.items():
                target = folder / Path(name).name
                with archive.open(name) as source, target.open("wb") as copy:
                    shutil.copyfileobj(source, copy)
                if _hash(target) != wanted:
                    raise StudyFileError(path.name, name, "was changed: its hash is another")
            yield head, folder
    except ValidationError as error:
        wrong = field_errors(error)[0]
        raise StudyFileError(path.name, f"{HEAD}: {wrong.field}", wrong.reason) from None
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise StudyFileError(path.name, "", f"is no bundle of a replication: {error}") from None
