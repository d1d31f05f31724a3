"""Damaged samples through the database: what is taken is whole, comes once, and can be opened."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group
from django.test import Client
from django.test.utils import override_settings, setup_databases, teardown_databases
from django.urls import reverse

from runs.imports.storing import ImportedRun, import_runs
from runs.models import Run, User
from runs.operations.integrity import violations
from tests.fuzz.importers import BOUNDS, FoundError, Importer, read_runs
from webagent.trajectory.intake import Problem
from webagent.trajectory.reading import open_runs

FAULTS = ("unexpected", "the database")
"""Words of reasons that no file should bring about: it is to be refused before."""
READER = "fuzz-reader"


def storing(importer: Importer) -> Importer | None:
    """The importer with the database behind it; None where it takes no runs."""
    if importer.read is not read_runs:
        return None
    return replace(importer, read=store_runs)


def store_runs(given: Path) -> int:
    """Import all that is there, twice; how many runs were new.

    Raises:
        FoundError: a run came twice, cannot be opened, or the database had to refuse it.
    """
    before = Run.objects.count()
    new = [run for run in _imported(given) if run.is_new]
    if Run.objects.count() != before + len({run.run_id for run in new}):
        raise FoundError("another number of runs is stored than was told")
    if any(run.is_new for run in _imported(given)):
        raise FoundError("a run came twice")
    client = Client()
    client.force_login(_reader())
    for run in new:
        for name in ("runs:run_detail", "runs:run_files"):
            answer = client.get(reverse(name, args=[run.run_id]))
            if answer.status_code != 200:
                raise FoundError(f"{name} answers {answer.status_code}")
    return len(new)


def broken() -> list[str]:
    """What is not as it must be in rows and files, each file read."""
    return [str(each) for each in violations(hashes=True)]


@contextmanager
def scratch_database() -> Iterator[None]:
    """A database and a store of their own, gone afterwards."""
    made = setup_databases(verbosity=0, interactive=False)
    try:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            blobs = {
                "BACKEND": "runs.storage.file_storage.BlobFileStorage",
                "OPTIONS": {"location": f"{folder}/blobs"},
            }
            with override_settings(STORAGES=settings.STORAGES | {"default": blobs}):
                yield
    finally:
        teardown_databases(made, verbosity=0)


def _imported(given: Path) -> list[ImportedRun]:
    stored: list[ImportedRun] = []
    with open_runs(given, bounds=BOUNDS) as source:
        for item in import_runs(source, thumbnails_follow=True):
            if isinstance(item, Problem):
                if any(words in item.reason for words in FAULTS):
                    raise FoundError(f"{item.file} {item.field}: {item.reason}")
            else:
                stored.append(item)
    return stored


def _reader() -> User:
    """Somebody who may open every run."""
    user, is_new = User.objects.get_or_create(username=READER)
    if is_new:
        user.groups.add(Group.objects.get(name="engineer"))
    return user
