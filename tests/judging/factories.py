"""Rows of judgements for tests."""

import itertools
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from judging.models import (
    Assignment,
    Dispute,
    Evaluation,
    EvaluatorVersion,
    Label,
    Study,
    StudyItem,
    StudyMember,
    Success,
)
from judging.studies.labels.assignment import annotated_study, offer_from
from judging.studies.labels.services import Submission, submit_label
from judging.studies.services import Protocol, create_study, set_member
from runs.models import Run, User
from tests.runs.factories import make_run, make_user

_numbers = itertools.count(1)
TAXONOMY = [{"key": "loop", "name": "repeated actions"}, {"key": "misread", "name": "misread page"}]


def make_study(
    *,
    runs: int | Sequence[Run] = 3,
    annotators: int | Sequence[User] = 2,
    adjudicators: int | Sequence[User] = 0,
    guidelines: str = "Success means that the basket holds the hose.",
    name: str | None = None,
    seed: int = 7,
    **protocol: Any,
) -> Study:
    """A study with runs and people; numbers make them."""
    chosen = [make_run(pictures=False) for _ in range(runs)] if isinstance(runs, int) else runs
    study = create_study(
        name=name or f"Study {next(_numbers)}",
        run_ids=[run.pk for run in chosen],
        protocol=Protocol(taxonomy=TAXONOMY, **protocol),
        guidelines=guidelines,
        seed=seed,
    )
    for user in _people(annotators, "annotator"):
        set_member(study=study, user=user, part=StudyMember.Part.ANNOTATOR)
    for user in _people(adjudicators, "adjudicator"):
        set_member(study=study, user=user, part=StudyMember.Part.ADJUDICATOR)
    return study


def _people(given: int | Sequence[User], role: str) -> Sequence[User]:
    return [make_user(role) for _ in range(given)] if isinstance(given, int) else given


def annotators_of(study: Study) -> list[User]:
    """The annotators, in the order in which they joined."""
    return _members(study, StudyMember.Part.ANNOTATOR)


def adjudicators_of(study: Study) -> list[User]:
    """The adjudicators, in the order in which they joined."""
    return _members(study, StudyMember.Part.ADJUDICATOR)


def _members(study: Study, part: str) -> list[User]:
    return [
        User.objects.get(pk=member.user_id)
        for member in study.members.filter(part=part).order_by("pk")
    ]


def make_submission(success: str = "success", **fields: Any) -> Submission:
    """What a form sends."""
    fields.setdefault("key", f"key-{next(_numbers)}")
    fields.setdefault("seconds", 0.0)
    return Submission(success=Success(success), **fields)


def next_assignment(*, study: Study, user: User) -> Assignment | None:
    """The run that the person is given now."""
    with transaction.atomic():
        locked = annotated_study(study.pk, user, is_locked=True)
        return offer_from(locked, user).assignment if locked else None


def label_next(study: Study, user: User, success: str = "success", **fields: Any) -> Label:
    """Let the person label whatever the queue gives them."""
    assignment = next_assignment(study=study, user=user)
    assert assignment is not None
    return submit_label(
        assignment=assignment, user=user, submission=make_submission(success, **fields)
    )


def make_label(item: StudyItem, user: User, success: str = "success", **fields: Any) -> Label:
    """Let the person label this run of a study, wherever it stands in their queue."""
    assignment, _ = item.assignments.get_or_create(
        user=user,
        is_repeat=False,
        defaults={"leased_until": timezone.now(), "opened_at": timezone.now()},
    )
    return submit_label(
        assignment=assignment, user=user, submission=make_submission(success, **fields)
    )


def make_dispute(
    study: Study | None = None, *, said: Sequence[str] = ("success", "failure")
) -> Dispute:
    """A dispute over the first open run of a study of two annotators."""
    study = study or make_study(adjudicators=1)
    item = study.items.filter(status=StudyItem.Status.OPEN).earliest("position")
    for user, success in zip(annotators_of(study), said, strict=True):
        make_label(item, user, success, rationale=f"{user} says {success}")
    return Dispute.objects.get(item=item)


def make_evaluation(run: Run, verdict: str = "passed", **fields: Any) -> Evaluation:
    """An evaluator's verdict on a run."""
    evaluator, _ = EvaluatorVersion.objects.get_or_create(
        config_hash="matcher", defaults={"name": "matcher", "kind": "matcher", "version": "1"}
    )
    return Evaluation.objects.create(run=run, evaluator=evaluator, verdict=verdict, **fields)
