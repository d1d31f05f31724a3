"""Importing a study's bundle: checked first, then tasks, runs one by one, and the study at once.

Whatever stops it, sending it again picks up what is missing: runs are known by their content,
and nothing of the study is there before all of it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import IntegrityError, transaction

from judging.portability.study_bundles.reading import (
    MOST_LISTED,
    BundleError,
    StudyBundle,
    holds_bundle,
)
from judging.portability.study_bundles.storing import People, StudyReport, store_tasks
from judging.portability.study_bundles.storing_study import StudyStore, store_evaluators
from runs.imports.reports import ImportReport
from runs.imports.storing import ImportedRun, import_runs
from runs.models import User
from runs.storage.blobs import import_bounds
from webagent.trajectory.bundles import Problem
from webagent.trajectory.reading import open_runs

NATIVE = "native"


@dataclass(slots=True)
class Imported:
    """What became of the runs, and of the study."""

    runs: ImportReport = field(default_factory=ImportReport)
    study: StudyReport = field(default_factory=StudyReport)


def import_study(
    path: Path,
    *,
    name: str | None = None,
    user: User | None = None,
    on_run: Callable[[int], None] | None = None,
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
        bundle.check()
        with transaction.atomic():
            store_tasks(bundle, imported.study, People(imported.study))
            store_evaluators(bundle, imported.study)
        _import_runs(path, imported, user, on_run)
        store_study(bundle, imported.study, name)
    return imported


def store_study(bundle: StudyBundle, report: StudyReport, name: str | None = None) -> None:
    """Store a checked bundle whose tasks and runs are here, all of it or nothing.

    Raises:
        BundleError: it does not fit.
    """
    try:
        with transaction.atomic():
            study = StudyStore(bundle, report, People(report), name).store()
    except IntegrityError as error:
        bad = Problem("", "study", "", f"the database refused it: {error}")
        raise BundleError(bad) from error
    report.study, report.study_id = study.name, study.pk


def _import_runs(
    path: Path, imported: Imported, user: User | None, on_run: Callable[[int], None] | None
) -> None:
    with open_runs(path, format=NATIVE, bounds=import_bounds()) as source:
        for item in import_runs(source, user=user):
            imported.runs.add(item)
            if on_run and isinstance(item, ImportedRun):
                on_run(imported.runs.n_done)
    if imported.runs.rejected:
        bad = imported.runs.rejected
        raise BundleError(*bad[:MOST_LISTED], more=max(0, len(bad) - MOST_LISTED))


MAY_IMPORT = "judging.add_study"
NOT_ALLOWED = "your role may not make studies, so the runs alone were taken"


def before_runs(path: Path, user: User | None) -> None:
    """Store what the runs of a bundle rest on; nothing where there is none, or it is damaged."""
    if not _may(user) or not holds_bundle(path, import_bounds()):
        return
    try:
        with StudyBundle(path, import_bounds()) as bundle:
            bundle.check()
            report = StudyReport()
            with transaction.atomic():
                store_tasks(bundle, report, People(report))
                store_evaluators(bundle, report)
    except BundleError:
        return  # told after the runs, which are taken all the same


def after_runs(path: Path, label: str, user: User | None) -> Iterator[Problem]:
    """Store the study of a bundle whose runs are here; what was left out of it, and why."""
    if not holds_bundle(path, import_bounds()):
        return
    if not _may(user):
        yield Problem(label, "study", "", NOT_ALLOWED)
        return
    report = StudyReport()
    try:
        with StudyBundle(path, import_bounds()) as bundle:
            bundle.check()
            store_study(bundle, report)
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
