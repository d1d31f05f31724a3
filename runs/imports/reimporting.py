"""Reading a run's kept original again with the importers of today.

The run keeps its address. One that is judged here stays as it was: labels and paid evaluations
refer to what was shown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import ProtectedError

from runs.exports.services import bundle_of
from runs.imports.rows import is_stored, take_away, why_kept, with_verdicts
from runs.imports.session import ImportSession, import_bounds
from runs.imports.storing import ImportedRun, StoringError, import_bundle
from runs.models import ImportJob, Run, RunOfImport
from runs.models.extension import extension
from webagent.trajectory.blobs import BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.originals import KeptTree
from webagent.trajectory.files.recognition import Answers
from webagent.trajectory.intake import NOT_IN_ORIGINALS, Problem, Rejection
from webagent.trajectory.reading import AUTO, format_names, source_of

PLACE = ("id", "experiment", "trial", "attempt", "retry_of", "rerun_of")


class Became(StrEnum):
    """What became of a run that was read again."""

    UNCHANGED = "unchanged"
    REPLACED = "replaced"
    KEPT = "kept"
    """It would be read otherwise now, and stays as it was, for the reason that is told."""
    NO_ORIGINAL = "no_original"
    UNREADABLE = "unreadable"
    NEW = "new"
    """It was not understood before, or not found."""
    DELETED = "deleted"
    """It was deleted since, and stays out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reimported:
    """One run that was read again."""

    run_id: UUID | None = None
    became: Became
    reason: str = ""
    source: str = ""
    """Where it stands in the file, if it was read from one."""

    def to_json(self) -> dict[str, str]:
        told = {"became": self.became.value, "reason": self.reason}
        return told | {"run": str(self.run_id or ""), "source": self.source}


def reimport(run: Run, *, answers: Answers, only_look: bool = False) -> Reimported:
    """Read the run's original again, and put what is read in its place.

    Repeating it changes nothing. With `only_look` nothing is changed.
    """
    stored = bundle_of(run)
    if not stored.run.source.originals:
        return Reimported(run_id=run.pk, became=Became.NO_ORIGINAL)
    read = _read(run, stored, answers)
    if isinstance(read, str):
        return Reimported(run_id=run.pk, became=Became.UNREADABLE, reason=read)
    if read.content_hash == stored.content_hash:
        if not only_look:
            # What is said of the run, such as labels whose meaning is known by now.
            with transaction.atomic():
                extension().verdicts.store(run, read)
        return Reimported(run_id=run.pk, became=Became.UNCHANGED)
    return put_in_place(run, read, only_look=only_look)


def put_in_place(run: Run, read: RunBundle, *, only_look: bool = False) -> Reimported:
    """Store what was read under the run's own id, with all that imports said of it, or say why
    the run stays as it was. With `only_look` nothing is changed.
    """
    if reason := why_kept(run):
        return Reimported(run_id=run.pk, became=Became.KEPT, reason=reason)
    if only_look:
        return Reimported(run_id=run.pk, became=Became.REPLACED)
    try:
        return Reimported(run_id=_replace(run, read), became=Became.REPLACED)
    except ProtectedError:
        reason = "hints or knowledge were made from it"
        return Reimported(run_id=run.pk, became=Became.KEPT, reason=reason)
    except StoringError as error:
        return Reimported(run_id=run.pk, became=Became.UNREADABLE, reason=str(error))


def _read(run: Run, stored: RunBundle, answers: Answers) -> RunBundle | str:
    """What is read today, in the run's place among others; why nothing is, otherwise."""
    format = run.source_format if run.source_format in format_names() else AUTO
    tree = KeptTree(stored)
    with source_of(tree, format=format, bounds=import_bounds(), answers=answers) as source:
        found = list(source)
    bundles = [item for item in found if isinstance(item, RunBundle)]
    if len(bundles) != 1:
        refused = next((item.reason for item in found if isinstance(item, Rejection)), "")
        return refused or f"{len(bundles)} runs in place of one"
    read = placed_like(bundles[0], stored)
    imported = stored.run.source.imported_files
    origin = read.run.source.model_copy(update={"imported_files": imported})
    cleaned = (gap for gap in stored.run.gaps if gap.what in NOT_IN_ORIGINALS)
    gaps = tuple(dict.fromkeys((*read.run.gaps, *cleaned)))
    return replace(read, run=read.run.model_copy(update={"source": origin, "gaps": gaps}))


def placed_like(read: RunBundle, stored: RunBundle) -> RunBundle:
    """What was read, in the place that the stored run has among others."""
    place = {name: getattr(stored.run, name) for name in PLACE}
    return replace(read, run=read.run.model_copy(update=place))


@transaction.atomic
def _replace(run: Run, read: RunBundle) -> UUID:
    """Store what was read under the run's own id, with all that imports said of it.

    Raises:
        ProtectedError: something that must not be lost refers to the run.
        StoringError: it cannot be stored.
    """
    user = run.created_by
    said = take_away(run, "read again from its original")
    run_id = import_bundle(with_verdicts(read, said), user=user).run_id
    Run.objects.filter(pk=run_id).update(stub_key=run.stub_key)
    return run_id


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
        """Do it, run by run; repeating it changes nothing."""
        for item in found:
            if isinstance(item, Problem):
                yield item
                continue
            try:
                yield self._store(item, session)
            except StoringError as error:
                yield error.rejection(item.source, item.source)
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
        return replace(became, source=bundle.source)


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
