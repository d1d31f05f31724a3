"""Bundles that come in by the page for imports, or with other files of runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from django.db import transaction

from judging.portability.study_bundles.importing import store_study
from judging.portability.study_bundles.reading import BundleError, StudyBundle, holds_bundle
from judging.portability.study_bundles.report import StudyReport
from judging.portability.study_bundles.rows import People
from judging.portability.study_bundles.storing_study import store_evaluators
from judging.portability.study_bundles.storing_tasks import store_tasks
from runs.models import User
from runs.storage.blobs import import_bounds
from webagent.trajectory.bundles import Problem

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
        for bad in error.bad:
            yield Problem(label, bad.file, bad.field, bad.reason)
        return
    for words in report.conflicts:
        yield Problem(label, f"study {report.study}", "", words)
    for name in report.people:
        yield Problem(label, f"study {report.study}", name, "is a new account, which is not active")


def _may(user: User | None) -> bool:
    """Whether they may make studies; commands may."""
    return user is None or user.has_perm(MAY_IMPORT)
