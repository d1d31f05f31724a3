"""A study's bundle out and in.

The same study gives the same bytes. A bundle is checked before anything of it is stored: first
tasks, then runs one by one, then the study at once. Whatever stops it, sending it again picks up
what is missing: runs are known by their content, and nothing of the study is there before all of
it is.
"""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from django.db import IntegrityError, transaction

from judging.models import Study
from judging.portability.study_bundles.kinds import (
    FOLDER,
    FORMAT,
    HEAD,
    VERSION,
    AttachmentLine,
    Head,
)
from judging.portability.study_bundles.reading import BundleError, StudyBundle, holds_bundle
from judging.portability.study_bundles.storing import BundleStore, StudyReport
from judging.portability.study_bundles.study import StudyContents, store_study
from judging.portability.study_bundles.tasks import store_evaluators, store_tasks
from judging.studies.access import STUDY_IMPORTED
from runs.accounts.audit_log import record_entry
from runs.exports.services import StoredBlobs, bundles_of
from runs.imports.reports import ImportReport
from runs.imports.session import import_bounds
from runs.imports.storing import ImportedRun, import_runs
from runs.models import User
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.canonical import canonical_json
from webagent.trajectory.formats.native.reader import RUNS_OF_BUNDLE
from webagent.trajectory.formats.native.schema import blob_name
from webagent.trajectory.formats.native.writer import (
    PRODUCER,
    LineFileWriter,
    PrefixSink,
    Sink,
    ZipSink,
    write_native,
)
from webagent.trajectory.intake import Problem
from webagent.trajectory.reading import open_runs

MAY_IMPORT = "judging.add_study"
NOT_ALLOWED = "your role may not make studies, so the runs alone were taken"


def write_study(file: BinaryIO, study: Study, *, on_run: Callable[[], None] | None = None) -> Head:
    """Write the whole study to a seekable file; line by line and run by run.

    Raises:
        BlobError: a blob is missing in the store.
    """
    contents = StudyContents(study)
    with zipfile.ZipFile(file, "w") as archive:
        sink = ZipSink(archive)
        head = _write_lines(PrefixSink(sink, FOLDER), contents)
        write_native(PrefixSink(sink, RUNS_OF_BUNDLE), _without_judgements(contents, on_run))
    return head


def _write_lines(sink: Sink, contents: StudyContents) -> Head:
    files: dict[str, LineFileWriter] = {}
    blobs: dict[str, str] = {}
    try:
        for name, lines in contents.lines().items():
            file = files[name] = LineFileWriter()
            for line in lines():
                if isinstance(line, AttachmentLine):
                    blobs.setdefault(line.sha256, line.media_type)
                file.add(line)
        told = {name: file.summary().model_dump() for name, file in files.items()}
        head = Head(format=FORMAT, version=VERSION, producer=PRODUCER.model_dump(), files=told)
        # What names the rest comes first.
        content = canonical_json(head)
        sink.add(HEAD, content, len(content))
        for name, file in files.items():
            file.write(sink, name)
    finally:
        for file in files.values():
            file.spool.close()
    for sha256, media_type in blobs.items():
        stored = StoredBlobs().read(sha256)
        sink.add(blob_name(sha256, media_type), stored, len(stored))
    return head


def _without_judgements(
    contents: StudyContents, on_run: Callable[[], None] | None
) -> Iterator[RunBundle]:
    """The runs; judgements of them stand in files of their own."""
    for bundle in bundles_of(contents.runs.order_by("pk")):
        task = bundle.task.model_copy(update={"milestones": None})
        yield replace(bundle, task=task, evaluations=(), labels=(), adjudications=())
        if on_run:
            on_run()


@dataclass(slots=True)
class Imported:
    """What became of the runs, and of the study."""

    runs: ImportReport = field(default_factory=ImportReport)
    study: StudyReport = field(default_factory=StudyReport)


def import_study(
    path: Path, *, name: str | None = None, on_run: Callable[[int], None] | None = None
) -> Imported:
    """Store what is missing of the bundle's runs and study; twice is as good as once.

    Args:
        name: of the study here, in place of its own.
        on_run: called after each run with how many there were.

    Raises:
        BundleError: the bundle is damaged or does not fit; nothing of the study is stored.
    """
    imported = Imported()
    with StudyBundle(path, import_bounds()) as bundle:
        _store_beneath(bundle, imported.study)
        _import_runs(path, imported, on_run)
        _store(bundle, imported.study, name=name)
    return imported


def _store_beneath(bundle: StudyBundle, report: StudyReport) -> None:
    """Store what the runs of a checked bundle rest on."""
    store = BundleStore(bundle, report)
    with transaction.atomic():
        store_tasks(store)
        store_evaluators(store)


def _store(
    bundle: StudyBundle, report: StudyReport, *, name: str | None = None, user: User | None = None
) -> None:
    """Store a checked bundle whose tasks and runs are here, all of it or nothing.

    Raises:
        BundleError: it does not fit.
    """
    try:
        with transaction.atomic():
            study = store_study(BundleStore(bundle, report), name)
            if report.new:
                new = report.told(report.new)
                record_entry(STUDY_IMPORTED, about=study, words=study.name, after=new, user=user)
    except IntegrityError as error:
        bad = Problem("", "study", "", f"the database refused it: {error}")
        raise BundleError(bad) from error
    report.study = study.name


def _import_runs(path: Path, imported: Imported, on_run: Callable[[int], None] | None) -> None:
    with open_runs(path, format="native", bounds=import_bounds()) as source:
        for item in import_runs(source):
            imported.runs.add(item)
            if on_run and isinstance(item, ImportedRun):
                on_run(imported.runs.n_done)
    if imported.runs.rejected:
        raise BundleError(*imported.runs.rejected)


def before_runs(path: Path, user: User | None) -> None:
    """Store what the runs of a bundle rest on; nothing where there is none, or it is damaged."""
    if not _may(user) or not holds_bundle(path):
        return
    try:
        with StudyBundle(path, import_bounds()) as bundle:
            _store_beneath(bundle, StudyReport())
    except BundleError:
        return  # told after the runs, which are taken all the same


def after_runs(path: Path, label: str, user: User | None) -> Iterator[Problem]:
    """Store the study of a bundle whose runs are here; what was left out of it, and why."""
    if not holds_bundle(path):
        return
    if not _may(user):
        yield Problem(label, "study", "", NOT_ALLOWED)
        return
    report = StudyReport()
    try:
        with StudyBundle(path, import_bounds()) as bundle:
            _store(bundle, report, user=user)
    except BundleError as error:
        yield from (replace(bad, source=label) for bad in error.bad)
        return
    for words in report.conflicts:
        yield Problem(label, f"study {report.study}", "", words)
    for name in report.people:
        yield Problem(label, f"study {report.study}", name, "is a new account, which is not active")


def _may(user: User | None) -> bool:
    """Whether they may make studies; commands may."""
    return user is None or user.has_perm(MAY_IMPORT)
