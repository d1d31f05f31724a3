"""What is always to hold: of the rows of this app, of what the database keeps, of the store."""

import re
from collections.abc import Iterator
from itertools import chain

from django.apps import apps
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from runs.models import Blob, ImportJob, LearningItem, LearningJob, LeasedWork, Run, RunStatus, Step
from runs.models.extension import Invariant, Violation, extension, number_of
from runs.models.leased_work import WorkState as State
from runs.models.triggers import ALL_GOALS, missing_goal_triggers, missing_guards
from runs.operations.blob_checks import BlobReport, check_content, check_files, check_references
from runs.queue.jobs import kinds_of_work
from webagent.trajectory.formats.pushed.runs import PUSH_FORMAT


def run_rows() -> Iterator[Invariant]:
    """What holds between a run and its steps, and between the attempts at one trial.

    That every step has an index of its own, that a run has one next attempt at most, and that
    one that repeats another has a family, the database itself keeps.
    """
    steps = Step.objects.all()
    pictures = number_of(steps, "run", "screenshot") + number_of(steps, "run", "after_screenshot")
    yield Invariant(
        lambda: Run.objects.annotate(rows=number_of(steps, "run")).exclude(rows=F("n_steps")),
        "n_steps is {n_steps}, and it has {rows}",
        ("n_steps", "rows"),
    )
    yield Invariant(
        lambda: Run.objects.annotate(rows=pictures).exclude(rows=F("n_screenshots")),
        "n_screenshots is {n_screenshots}, and its steps have {rows}",
        ("n_screenshots", "rows"),
    )
    if connection.vendor == "sqlite":
        yield Invariant(
            lambda: Run.objects.exclude(goal__in=ALL_GOALS), "no word of its goal is found"
        )
    yield from _attempts()


def _attempts() -> Iterator[Invariant]:
    later = Run.objects.filter(retry_of__isnull=False)
    # A file may number and link attempts as it likes.
    ours = later.filter(queued_at__isnull=False)
    yield Invariant(
        lambda: ours.exclude(attempt=F("retry_of__attempt") + 1),
        "it is attempt {attempt}, after attempt {retry_of__attempt}",
        ("attempt", "retry_of__attempt"),
    )
    yield Invariant(
        lambda: ours.filter(~Q(task=F("retry_of__task")) | ~Q(trial=F("retry_of__trial"))),
        "it is another attempt at run {retry_of}, and not at its task and trial",
        ("retry_of",),
    )
    yield Invariant(
        lambda: ours.filter(
            Q(retry_of__status__in=RunStatus.active()) | Q(retry_of__superseded=False)
        ),
        "it is the next attempt after run {retry_of}, which has not ended or counts still",
        ("retry_of",),
    )
    for link in ("retry_of", "rerun_of"):
        root = Coalesce(f"{link}__family", f"{link}_id")
        yield Invariant(
            lambda link=link, root=root: (  # type: ignore[misc] # bound defaults have no type
                Run.objects.filter(**{f"{link}__isnull": False})
                .annotate(root_of_repeated=root)
                .exclude(family=F("root_of_repeated"))
            ),
            f"it repeats run {{{link}}} and is of another family",
            (link,),
        )


WORDS = (("status", RunStatus), ("outcome", Run.Outcome), ("end_reason", Run.EndReason))
OF_OUR_QUEUE = Q(queued_at__isnull=False)
"""Imported runs end as their file says, and some files do not say when."""
HAS_ENDING = (
    ~Q(outcome=Run.Outcome.UNKNOWN)
    | ~Q(end_reason=Run.EndReason.UNKNOWN)
    | Q(ended_at__isnull=False)
    | Q(content_hash__isnull=False)
    | ~Q(fault="")
)


def run_states() -> Iterator[Invariant]:
    """What holds of a run by itself."""
    for name, words in WORDS:
        yield _never(~Q(**{f"{name}__in": words.values}), f"{name} {{{name}}} is none", name)
    waiting = Q(status=RunStatus.QUEUED)
    held = Q(status__in=RunStatus.held())
    ended = Q(status__in=RunStatus.ended())
    pushed = Q(source_format=PUSH_FORMAT)
    yield _never(
        waiting & (~Q(lease_owner="") | Q(lease_expires_at__isnull=False)),
        "it waits, and {lease_owner} holds a lease on it until {lease_expires_at}",
        "lease_owner",
        "lease_expires_at",
    )
    no_lease = Q(lease_owner="") | Q(lease_token=0) | Q(lease_expires_at=None)
    yield _never(
        held & (no_lease | (Q(claimed_at=None) & ~pushed) | Q(heartbeat_at=None)),
        "it is {status} without a whole lease (owner, token, end, claim, heartbeat)",
        "status",
    )
    yield _never(ended & Q(lease_expires_at__isnull=False), "it has ended and is still leased")
    not_started = Q(status__in=(RunStatus.QUEUED, RunStatus.LEASED)) & Q(started_at__isnull=False)
    yield _never(not_started, "it is {status} and has started", "status")
    yield _never(Q(status=RunStatus.RUNNING, started_at=None), "it runs and has not started")
    yield _never(
        Q(status__in=RunStatus.active()) & HAS_ENDING,
        "it is {status} and has an ending ({outcome}, {end_reason})",
        "status",
        "outcome",
        "end_reason",
    )
    yield _never(ended & OF_OUR_QUEUE & Q(ended_at=None), "it has ended, and nobody noted when")
    yield _never(
        Q(status=RunStatus.FINISHED, content_hash=None), "it has finished without a content hash"
    )
    yield _never(pushed & waiting, "it is pushed from elsewhere, and waits for a worker")
    yield _never(
        pushed & held & (~Q(status=RunStatus.RUNNING) | ~Q(lease_token=1)),
        "it is pushed from elsewhere, and a worker has claimed it",
    )
    yield from _endings()


def _endings() -> Iterator[Invariant]:
    """Status, outcome and reason say the same."""
    told = ("status", "outcome", "end_reason")
    why = "status {status} does not go with outcome {outcome} and end reason {end_reason}"
    cancelled = Q(end_reason=Run.EndReason.CANCELLED)
    # A budget that was spent before it began ends a run, too.
    unstarted = Q(end_reason=Run.EndReason.NEVER_STARTED)
    error = Q(outcome=Run.Outcome.ERROR)
    yield _never(Q(status=RunStatus.CANCELLED) & ~cancelled & ~unstarted, why, *told)
    yield _never(Q(status=RunStatus.FINISHED) & cancelled, why, *told)
    yield _never(Q(status=RunStatus.FAILED) & ~error, why, *told)
    # Other tools' runs have finished, however they went.
    yield _never(Q(status=RunStatus.FINISHED) & error & OF_OUR_QUEUE, why, *told)


def _never(condition: Q, why: str, *told: str) -> Invariant:
    return Invariant(lambda: Run.objects.filter(condition), why, told)


ACTIVE = (State.QUEUED, State.RUNNING)


def leased_work() -> Iterator[Invariant]:
    """What holds of every kind of work, those of the apps above included, and of learning."""
    for kind in kinds_of_work():
        yield from _states(kind)
    # Those that came with a file have no items.
    worked = LearningJob.objects.filter(lease_token__gt=0, n_total__isnull=False)
    items = LearningItem.objects.all()
    yield Invariant(
        lambda: worked.annotate(rows=number_of(items, "job")).exclude(rows=F("n_total")),
        "n_total is {n_total}, and it has {rows} items",
        ("n_total", "rows"),
    )
    done = items.filter(is_done=True)
    yield Invariant(
        lambda: worked.annotate(rows=number_of(done, "job")).exclude(rows=F("n_done")),
        "n_done is {n_done}, and {rows} of its items are done",
        ("n_done", "rows"),
    )
    yield Invariant(
        lambda: worked.filter(state=State.FINISHED, n_done__lt=F("n_total")),
        "it has finished with {n_done} of {n_total} done",
        ("n_done", "n_total"),
    )
    imports = ImportJob.objects.filter(state=State.FINISHED)
    yield Invariant(
        lambda: imports.filter(only_looks=False, report={}), "it has finished without a report"
    )
    yield Invariant(
        lambda: imports.filter(only_looks=True, survey={}), "it has finished without a survey"
    )


def _states(kind: type[LeasedWork]) -> Iterator[Invariant]:
    def never(condition: Q, why: str) -> Invariant:
        return Invariant(lambda: kind.objects.filter(condition), why, ("state",))

    yield never(~Q(state__in=State.values), "state {state} is none")
    no_lease = Q(lease_token=0) | Q(lease_expires_at=None)
    yield never(
        Q(state=State.RUNNING) & (no_lease | Q(claimed_at=None) | Q(started_at=None)),
        "it runs without a whole lease (token, end, claim, start)",
    )
    yield never(
        ~Q(state=State.RUNNING) & Q(lease_expires_at__isnull=False), "it is {state} and leased"
    )
    yield never(Q(state__in=ACTIVE, ended_at__isnull=False), "it is {state} and has ended")
    yield never(
        # What came with a file was never taken up here.
        Q(state__in=set(State) - set(ACTIVE), ended_at=None) & Q(lease_token__gt=0),
        "it is {state}, and nobody noted when it ended",
    )


NAMED_CONSTRAINT = re.compile(r'CONSTRAINT "(\w+)"')


def missing_constraints() -> Iterator[Violation]:
    """Constraints of our models and guards that the database has lost, as by a partial restore.

    While they are there no row can break them, so that the rows need not be looked at.
    """
    with connection.cursor() as cursor:
        for model in sorted(apps.get_models(), key=lambda model: model._meta.label):
            if model._meta.label.partition(".")[0] not in ("runs", "judging"):
                continue
            found, unique = constraints_of(cursor, model._meta.db_table)
            named = {str(constraint.name) for constraint in model._meta.constraints}
            for name in sorted(named - found):
                yield Violation(model._meta.label, name, "the database has lost this constraint")
            fields = model._meta.local_concrete_fields
            for column in sorted(str(field.column) for field in fields if field.unique):
                if (column,) not in unique:
                    yield Violation(model._meta.label, column, "the database lets it repeat")
    for name in missing_guards():
        yield Violation("database", name, "the trigger that guards what never changes is gone")
    for name in missing_goal_triggers():
        yield Violation("database", name, "the trigger that keeps goals for searching is gone")


def constraints_of(cursor: CursorWrapper, table: str) -> tuple[set[str], set[tuple[str, ...]]]:
    """The names of a table's constraints and indexes, and the columns that are unique together.

    Of SQLite they are read here: for Django it takes the statements apart, which takes longer than
    all other checks of a small site.
    """
    if connection.vendor != "sqlite":
        found = connection.introspection.get_constraints(cursor, table)
        unique = [c["columns"] for c in found.values() if c["unique"] or c["primary_key"]]
        return set(found), {tuple(columns) for columns in unique}
    cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = %s", [table])
    names = {name for (sql,) in cursor.fetchall() for name in NAMED_CONSTRAINT.findall(sql)}
    columns = {"": connection.introspection.get_primary_key_columns(cursor, table) or []}
    cursor.execute(
        'SELECT i.name, i."unique", c.name'
        " FROM pragma_index_list(%s) i JOIN pragma_index_info(i.name) c ORDER BY i.seq, c.seqno",
        [table],
    )
    for index, is_unique, column in cursor.fetchall():
        names.add(index)
        if is_unique:
            columns.setdefault(index, []).append(column)
    return names, {tuple(each) for each in columns.values() if each}


def damaged_blobs(*, hashes: bool) -> Iterator[Violation]:
    """What `check_blobs` finds damaged or missing; every byte is read only with `hashes`."""
    report = BlobReport()
    check = check_content if hashes else check_files
    for _checked in check(report):
        yield from _violations(report)
    check_references(report)
    yield from _violations(report)


def _violations(report: BlobReport) -> Iterator[Violation]:
    for damage in report.damaged:
        yield Violation(Blob._meta.label, damage.sha256, damage.reason)
    report.damaged.clear()


def all_invariants() -> list[Invariant]:
    """Those of runs, their rows and work in the background, and those of the app above."""
    return [*run_states(), *run_rows(), *leased_work(), *extension().invariants()]


def checks(*, hashes: bool = False) -> list[Iterator[Violation]]:
    """What is to be looked at, one thing after the other; nothing is until it is asked for.

    Args:
        hashes: whether every file is read and compared with its hash, too.
    """
    of_rows = [invariant.violations() for invariant in all_invariants()]
    return [missing_constraints(), *of_rows, damaged_blobs(hashes=hashes)]


def violations(*, hashes: bool = False) -> Iterator[Violation]:
    """Everything that is not as it must be. Reads only, and holds one row at a time."""
    return chain.from_iterable(checks(hashes=hashes))


def checked_rows() -> dict[str, int]:
    """How many rows of each model a check looks at."""
    models = {invariant.broken().model for invariant in all_invariants()} | {Step, Blob}
    return {
        model._meta.label: model._base_manager.count()
        for model in sorted(models, key=lambda model: model._meta.label)
    }
