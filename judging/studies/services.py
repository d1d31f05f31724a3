"""Creating studies from a sample of runs, and changing their members."""

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import Assignment, Guideline, Label, Study, StudyItem, StudyMember
from judging.studies.access import (
    GUIDELINES_CHANGED,
    MEMBER_REMOVED,
    MEMBER_SET,
    STUDY_CLOSED,
    STUDY_MADE,
    record_closing,
)
from judging.studies.labels.assignment import lock_study
from runs.accounts.audit_log import record_entry
from runs.models import Run, User
from runs.models.runs.queries import RunQuerySet
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import RunFilter


class MemberError(Exception):
    """The person cannot take this role in the study. Subclasses say why."""

    words: str | Promise


class MayNotAdjudicateError(MemberError):
    """Their role does not allow it."""

    words = _("%(person)s is no adjudicator. An administrator can give the role.")


class HasLabelledError(MemberError):
    """Who has labelled runs of a study cannot adjudicate it."""

    words = _("%(person)s has labelled in this study and cannot adjudicate it.")


class HasAdjudicatedError(MemberError):
    """Who has adjudicated in a study has seen labels, and cannot label in it."""

    words = _("%(person)s has seen labels of this study and cannot annotate in it.")


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of a study; the names are those of `Study`."""

    labels_per_run: int = 2
    hides_identity: bool = True
    asks_milestones: bool = False
    asks_failure_details: bool = False
    repeat_share: float = 0.0
    taxonomy: list[dict[str, str]] = field(default_factory=list)


@transaction.atomic
def create_study(
    *,
    name: str,
    run_ids: Sequence[UUID],
    protocol: Protocol,
    guidelines: str = "",
    description: str = "",
    created_by: User | None = None,
    run_query: str = "",
    seed: int = 0,
    sample_size: int | None = None,
    is_demo: bool = False,
    members: Mapping[User, StudyMember.Part] | None = None,
) -> Study:
    """A study of these runs, in this order, with its first guidelines and members.

    Raises:
        MemberError: somebody cannot take their role; then there is no study.
    """
    study = Study.objects.create(
        name=name,
        description=description,
        **asdict(protocol),
        run_filter={"query": run_query},
        sample_seed=seed,
        sample_size=sample_size,
        created_by=created_by,
        is_demo=is_demo,
    )
    ages = dict(Run.objects.filter(pk__among=run_ids).order_by().values_list("pk", "created_at"))
    StudyItem.objects.bulk_create(
        StudyItem(study=study, run_id=run_id, position=position, run_created_at=ages.get(run_id))
        for position, run_id in enumerate(run_ids, start=1)
    )
    record_entry(STUDY_MADE, about=study, words=name, after=f"{len(run_ids)} runs", user=created_by)
    if guidelines.strip():
        add_guideline(study=study, text=guidelines, author=created_by)
    for user, part in (members or {}).items():
        set_member(study=study, user=user, part=part)
    return study


@transaction.atomic
def add_guideline(*, study: Study, text: str, author: User | None) -> Guideline:
    """The next version of the guidelines. Labels keep the version they were made under."""
    Study.objects.select_for_update().get(pk=study.pk)
    newest = study.guidelines.aggregate(newest=Max("version"))["newest"] or 0
    record_entry(
        GUIDELINES_CHANGED,
        about=study,
        words=study.name,
        before=f"version {newest}" if newest else "",
        after=f"version {newest + 1}",
        user=author,
    )
    return Guideline.objects.create(study=study, version=newest + 1, text=text, created_by=author)


@transaction.atomic
def set_member(*, study: Study, user: User, part: StudyMember.Part) -> StudyMember:
    """Give the person a role in the study, or another than they had.

    Raises:
        MemberError: one of its kinds; the role would break the study's independence.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    if part == StudyMember.Part.ADJUDICATOR:
        if not user.has_perm("judging.adjudicate"):
            raise MayNotAdjudicateError
        if Label.objects.filter(item__study=study, annotator=user).exists():
            raise HasLabelledError
    else:
        was = StudyMember.objects.filter(study=study, user=user, part=StudyMember.Part.ADJUDICATOR)
        if was.exists() and study.unblinding_set.filter(user=user).exists():
            raise HasAdjudicatedError
    now = StudyMember.objects.filter(study=study, user=user, left_at=None).first()
    record_entry(
        MEMBER_SET,
        about=study,
        words=user.username,
        before=now.part if now else "",
        after=str(part),
    )
    member, _is_new = StudyMember.objects.update_or_create(
        study=study, user=user, defaults={"part": part, "left_at": None}
    )
    return member


@transaction.atomic
def remove_member(*, study: Study, user: User) -> None:
    """End the person's role. Their labels stay; runs leased to them go to others at once.

    They stay blinded to what is unsettled, so they may come back.
    """
    now = timezone.now()
    StudyMember.objects.filter(study=study, user=user, left_at=None).update(left_at=now)
    Assignment.objects.filter(item__study=study, user=user, state=Assignment.State.LEASED).update(
        leased_until=now
    )
    record_entry(MEMBER_REMOVED, about=study, words=user.username)


@transaction.atomic
def close_study(*, study: Study) -> None:
    """End the study for good: no more labels, and what is unsettled stays without a verdict.

    Its members are no longer blinded by it, which is recorded. Labels that are being submitted
    come first: from here on, each finds the study closed.
    """
    if not lock_study(study.pk).is_open:
        return
    list(study.items.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    if Study.objects.filter(pk=study.pk).update(is_open=False):
        record_entry(STUDY_CLOSED, about=study, words=study.name)
        record_closing(study=study)


Key = TypeVar("Key", int, str, UUID)

MAX_RUNS = 5000


def run_filter(query: str, user: User) -> RunFilter:
    """The runs table's own filter over the runs to judge that the person may open."""
    judged = Run.objects.judgeable()
    return RunFilter(QueryDict(query), visibility=visibility_of(user), runs=judged)


def matching_runs(query: str, user: User) -> RunQuerySet[Run]:
    """The runs to judge that the filter matches."""
    matched: RunQuerySet[Run] = run_filter(query, user).qs
    return matched


def draw(keys: Sequence[Key], size: int | None, seed: int) -> list[Key]:
    """A random sample in random order, the same for the same keys, size and seed.

    Args:
        size: all of them where None or more than there are.
    """
    chance = random.Random(seed)  # noqa: S311 - a stored seed is the point
    ordered = sorted(keys)
    return chance.sample(ordered, min(len(ordered), len(ordered) if size is None else size))


def new_seed() -> int:
    """A seed of six digits, short enough to be read aloud."""
    return 100_000 + secrets.randbelow(900_000)
