"""A run and the rows that hang on it: steps, pictures, attempts."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from runs.models import Run, RunStatus, Step
from runs.operations.integrity.contract import Invariant, number_of


def run_rows() -> Iterator[Invariant]:
    """What holds between a run and its steps, and between the attempts at one trial.

    That every step has an index of its own, that a run has one next attempt at most, and that
    one that repeats another has a family, the database itself keeps (see `kept_by_database`).
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
