"""Roles and accounts; who may read the audit of a study; who viewed blinded data.

Annotators and adjudicators have no permissions to see runs: what they may open follows from
their role in a study (`judging.studies.blinding`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import Group, Permission
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext_lazy as _

from judging.models import Study, StudyItem, Unblinding
from runs.accounts.audit_log import record_entry
from runs.interface.requests import AppRequest, demand
from runs.models import User
from runs.models.audit_log import ACCOUNT_MADE, kind
from runs.models.visibility import run_policy
from webagent.measures import batched

LABEL_SUBMITTED = kind("label.submitted", _("submitted a label"), is_blinded=True)
LABEL_CHANGED = kind("label.changed", _("changed a label"), is_blinded=True)
LABEL_UNDONE = kind("label.undone", _("undid a label"), is_blinded=True)
LABELS_IMPORTED = kind("label.imported", _("imported labels or verdicts"))
DISPUTE_SETTLED = kind("dispute.settled", _("agreed in discussion"), is_blinded=True)
DISPUTE_DECIDED = kind("dispute.decided", _("decided a dispute"), is_blinded=True)
UNBLINDED = kind("study.unblinded", _("viewed blinded data"), is_blinded=True)

STUDY_MADE = kind("study.made", _("created a study"))
STUDY_IMPORTED = kind("study.imported", _("imported a study"))
STUDY_CLOSED = kind("study.closed", _("closed a study"))
GUIDELINES_CHANGED = kind("study.guidelines_changed", _("changed guidelines"))
MEMBER_SET = kind("study.member_set", _("added a study member"))
MEMBER_REMOVED = kind("study.member_removed", _("removed a study member"))
STUDY_EXPORTED = kind("study.exported", _("exported a study"))

EVALUATOR_ADDED = kind("evaluator.added", _("added a version of an evaluator"))
EVALUATION_STARTED = kind("evaluation.started", _("started an evaluation"))
EVALUATION_CANCELLED = kind("evaluation.cancelled", _("stopped an evaluation"))
EVALUATION_RESUMED = kind("evaluation.resumed", _("resumed an evaluation"))
# None of these entries holds a judgement. Those of labels and disputes show who judged which run
# when, and how long one took after another.

AUDIT = "judging.view_audit"
EVALUATE = "judging.add_evaluation"

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


def studies_hidden_from(user: User) -> QuerySet[Study]:
    """Studies that hold a run to which the person is still blinded, in this study or another.

    Figures over the other runs would tell something of that one, so there are none at all.
    """
    blind = run_policy().blind_runs(user)
    if blind is None:
        return Study.objects.none()
    items = StudyItem.objects.filter(study=OuterRef("pk"), run__in=blind.values("pk"))
    return Study.objects.filter(Exists(items))


def for_auditors(view: Callable[Concatenate[AppRequest, Study, P], HttpResponseBase]) -> View:
    """Admits who may read audits and is blinded to no run of the study."""

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        demand(request.user, AUDIT)
        study = get_object_or_404(Study, pk=study_id)
        if studies_hidden_from(request.user).filter(pk=study_id).exists():
            return render(
                request, "judging/studies/audit_refused.html", {"study": study}, status=403
            )
        return view(request, study, *args, **kwargs)

    return guarded


CHUNK = 500
"""Databases take no more than so many values at a time."""


@transaction.atomic
def record_unblinding(*, user: User, item: StudyItem, reason: str) -> None:
    """Note that the person sees the item's labels or verdicts, once per person and item.

    Afterwards the run is never assigned to them again, in any study.
    """
    _, is_new = Unblinding.objects.get_or_create(
        user=user, item=item, defaults={"study_id": item.study_id, "reason": reason}
    )
    if is_new:
        record_entry(UNBLINDED, about=("run", item.run_id), words=reason, user=user)


def record_unblindings(*, user: User, items: Iterable[StudyItem], reason: str) -> None:
    """The same for a list of runs, in two queries for every `CHUNK` of them.

    The audit log holds how many runs of a study they were; the rows, which ones.
    """
    seen = {item.pk: item for item in items}.values()
    new: list[StudyItem] = []
    for chunk in batched(seen, CHUNK):
        rows = Unblinding.objects.filter(user=user, item__in=[item.pk for item in chunk])
        known = set(rows.order_by().values_list("item", flat=True))
        new += [item for item in chunk if item.pk not in known]
    if new:
        _record_new(user, new, reason)


@transaction.atomic
def _record_new(user: User, items: Sequence[StudyItem], reason: str) -> None:
    Unblinding.objects.bulk_create(
        (
            Unblinding(user=user, item_id=item.pk, study_id=item.study_id, reason=reason)
            for item in items
        ),
        batch_size=CHUNK,
        ignore_conflicts=True,
    )
    for study, n in sorted(Counter(item.study_id for item in items).items()):
        record_entry(UNBLINDED, about=("study", study), words=reason, after=f"{n} runs", user=user)


def record_closing(*, study: Study) -> None:
    """Note that closing the study opened its unsettled runs to all its members."""
    open_to = study.members.values_list("user", flat=True)
    Unblinding.objects.bulk_create(
        Unblinding(study=study, user_id=user, reason="study closed") for user in open_to
    )


APPS = ("runs", "judging", "auth")
TAG_FAILURES = "judging.add_failurecausetag"
"""May tag the cause of a failure of any run to which one is not blinded."""

ENGINEER = (
    "runs.view_run",
    "runs.view_experiment",
    "runs.view_task",
    "runs.change_task",
    "runs.rerun_run",
    "runs.import_run",
    "runs.export_run",
    "runs.read_acts",
    "runs.manage_space",
    "runs.view_hint",
    "runs.add_hint",
    "runs.view_knowledgeset",
    "runs.add_knowledgeset",
    "runs.change_knowledgeset",
    "judging.view_audit",
    "judging.add_evaluation",
    "judging.add_causetag",
    "judging.add_failurereview",
    TAG_FAILURES,
    "judging.view_study",
    "judging.add_study",
    "judging.change_study",
)


class Role(StrEnum):
    """What an account is for. Each is the name of a group."""

    ANNOTATOR = "annotator"
    ADJUDICATOR = "adjudicator"
    ENGINEER = "engineer"
    ADMIN = "admin"


def sync_roles(*, using: str = "default", **_: object) -> None:
    """Make the groups exist with exactly their permissions.

    Runs after every `migrate`, when those of all apps exist.
    """
    every = Permission.objects.using(using)
    granted: dict[Role, Iterable[Permission]] = {
        Role.ANNOTATOR: _named(every, (TAG_FAILURES,)),
        Role.ADJUDICATOR: _named(every, ("judging.adjudicate", TAG_FAILURES)),
        Role.ENGINEER: _named(every, ENGINEER),
        Role.ADMIN: every.filter(content_type__app_label__in=APPS),
    }
    for role, permissions in granted.items():
        group, _created = Group.objects.using(using).get_or_create(name=role)
        group.permissions.set(permissions)


def _named(every: QuerySet[Permission], names: Iterable[str]) -> QuerySet[Permission]:
    wanted = Q(pk__in=[])
    for name in names:
        app, codename = name.split(".")
        wanted |= Q(content_type__app_label=app, codename=codename)
    return every.filter(wanted)


@transaction.atomic
def create_user(*, name: str, role: Role, password: str, for_demo: bool = False) -> User:
    """A new account with one role; administrators also reach the administration pages.

    Args:
        for_demo: the password may be one that everybody knows.

    Raises:
        django.core.exceptions.ValidationError: the name is not a valid one or taken, or the
            password is too weak.
    """
    user = User(username=User.normalize_username(name), is_staff=role is Role.ADMIN)
    if not for_demo:
        validate_password(password, user)
    user.set_password(password)
    user.full_clean()
    user.save()
    user.groups.add(Group.objects.get(name=role))
    record_entry(ACCOUNT_MADE, about=user, words=user.username, after=role)
    return user
