"""Labels and the assignments that they came by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from judging.models import Assignment, Label, StudyMember, Success
from judging.studies.imported import IMPORTED
from runs.operations.integrity.contract import Invariant

State = Assignment.State


def labels() -> Iterator[Invariant]:
    """What holds of labels and assignments.

    That a person has one of each on a run, and one more as a hidden repeat, the database keeps.
    """
    yield Invariant(
        lambda: Label.objects.exclude(success__in=Success.values),
        "{success} is no verdict",
        ("success",),
    )
    # Labels that came with a file were given elsewhere.
    given = Label.objects.exclude(item__study__run_filter__has_key=IMPORTED)
    yield Invariant(
        lambda: given.exclude(_same(Assignment.objects.filter(state=State.SUBMITTED), "annotator")),
        "no submitted assignment stands behind it",
    )
    members = StudyMember.objects.filter(study=OuterRef("item__study"), user=OuterRef("annotator"))
    yield Invariant(
        lambda: Label.objects.exclude(Exists(members)), "whoever gave it was never in its study"
    )
    first = Label.objects.independent().filter(
        item=OuterRef("item"), annotator=OuterRef("annotator")
    )
    yield Invariant(
        lambda: given.filter(is_repeat=True).exclude(Exists(first)), "it repeats no label"
    )
    yield from _assignments()


def _assignments() -> Iterator[Invariant]:
    has_label = _same(Label.objects.all(), "user")
    yield _never(~Q(state__in=State.values), "state {state} is none")
    yield _never(Q(state=State.SUBMITTED) & ~has_label, "it is submitted without a label")
    yield _never(~Q(state=State.SUBMITTED) & has_label, "it is {state} and has a label")
    yield _never(
        Q(state=State.SKIPPED) & (Q(skipped_at=None) | Q(n_skips=0)),
        "it is skipped, and nobody noted when or how often",
    )
    yield _never(Q(seconds__lt=0), "it took less than no time")
    members = StudyMember.objects.filter(study=OuterRef("item__study"), user=OuterRef("user"))
    yield _never(~Q(Exists(members)), "whoever has it was never in its study")


def _same(rows: QuerySet[Any], person: str) -> Q:
    """Whether there is one on the same item, by the same person, of the same look."""
    by = "user" if rows.model is Assignment else "annotator"
    return Q(
        Exists(
            rows.filter(
                **{by: OuterRef(person)}, item=OuterRef("item"), is_repeat=OuterRef("is_repeat")
            )
        )
    )


def _never(condition: Q, why: str) -> Invariant:
    return Invariant(lambda: Assignment.objects.filter(condition), why, ("state",))
