"""Reading a kept upload once more: what is new comes in, what is here is bettered, nothing doubles.

What a run in the file became is known by its id in the file. A run that somebody judges, that was
deleted since, or that is somebody else's stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from runs.exports.run_bundles import bundle_of, is_stored
from runs.imports.reimporting import Became, Reimported, placed_like, put_in_place
from runs.imports.session import ImportSession
from runs.imports.storing import ImportedRun, StoringError, import_bundle
from runs.models import ImportJob, Run, RunOfImport
from webagent.trajectory.bundles import BlobStash, Problem, Rejection, RunBundle

MOST_LISTED = 200
ROWS_AT_ONCE = 500
OF_OTHERS = "it came with an import of somebody else"


class ReadingAgain:
    """One more reading of the file of an earlier import."""

    def __init__(self, first: ImportJob) -> None:
        self._first = first
        self._known: dict[str, UUID] = dict(
            first.runs_of_file.values_list("id_in_file", "run_id").iterator()
        )
        self._seen: set[UUID] = set()
        self._counts: Counter[str] = Counter()
        self._odd: list[Reimported] = []

    def look(self, bundle: RunBundle) -> bool:
        """Note what would become of the run; whether it is here as it is read now."""
        became = self._become(bundle, only_look=True)
        self._counts[became.became.value] += 1
        if became.reason and len(self._odd) < MOST_LISTED:
            self._odd.append(became)
        return became.became is Became.UNCHANGED

    def told(self) -> dict[str, Any]:
        """What a look found, for the page."""
        return {"counts": self._counts, "runs": [each.to_json() for each in self._odd]}

    def store(
        self, found: Iterable[RunBundle | Problem], session: ImportSession
    ) -> Iterator[ImportedRun | Reimported | Problem]:
        """Do it, run by run; twice is as good as once."""
        for item in found:
            if isinstance(item, Problem):
                yield item
                continue
            try:
                yield self._store(item, session)
            except StoringError as error:
                yield Rejection(item.source, item.source, error.field, str(error))
            finally:
                if isinstance(item.blobs, BlobStash):
                    item.blobs.close()

    def _store(self, bundle: RunBundle, session: ImportSession) -> ImportedRun | Reimported:
        became = self._become(bundle, only_look=False)
        if became.became is Became.UNCHANGED and became.run_id:
            bundle = placed_like(bundle, bundle_of(Run.objects.get(pk=became.run_id)))
        elif became.became not in (Became.NEW, Became.UNCHANGED):
            session.forget()
            return became
        name = self._first.experiment_name or None
        return import_bundle(bundle, experiment_name=name, session=session)

    def _become(self, bundle: RunBundle, *, only_look: bool) -> Reimported:
        if is_stored(bundle):
            return Reimported(became=Became.UNCHANGED, source=bundle.source)
        run_id = self._known.get(bundle.run.id)
        if run_id is None or run_id in self._seen:
            return Reimported(became=Became.NEW, source=bundle.source)
        self._seen.add(run_id)
        run = (
            Run.objects.filter(pk=run_id)
            .select_related("task__task_set", "agent", "experiment", "created_by")
            .first()
        )
        if run is None:
            return Reimported(became=Became.DELETED, source=bundle.source)
        stored = bundle_of(run)
        placed = placed_like(bundle, stored)
        if placed.content_hash == stored.content_hash:
            return Reimported(run_id=run_id, became=Became.UNCHANGED, source=bundle.source)
        if run.created_by_id not in (None, self._first.created_by_id):
            became = Reimported(run_id=run_id, became=Became.KEPT, reason=OF_OTHERS)
        else:
            became = put_in_place(run, placed, only_look=only_look)
        return became.of(bundle.source)


def remember_runs(job: ImportJob, runs: Iterable[ImportedRun]) -> None:
    """Note which run each run of the file is, for the next reading of it."""
    rows = {
        run.id_in_file: RunOfImport(job=job, id_in_file=run.id_in_file, run_id=run.run_id)
        for run in runs
    }
    RunOfImport.objects.bulk_create(
        rows.values(),
        batch_size=ROWS_AT_ONCE,
        update_conflicts=True,
        unique_fields=["job", "id_in_file"],
        update_fields=["run_id"],
    )
