"""Accounts, and the four roles: groups with permissions, the same on every database.

Annotators and adjudicators have no permissions to see runs: what they may open follows from
their role in a study (`judging.studies.blinding`).
"""

from collections.abc import Iterable
from enum import StrEnum

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import Q, QuerySet

from runs.accounts.audit_log import record_entry
from runs.models import User
from runs.models.audit_log import ACCOUNT_MADE

APPS = ("runs", "judging", "auth")
TAG_FAILURES = "judging.add_failurecausetag"
"""May tag why a run failed that one is not blinded to, whatever else one may open."""

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
    """Make the groups exist with exactly their permissions. Runs after every `migrate`."""
    for label in APPS:  # this app is migrated before its permissions and those of others exist
        create_permissions(apps.get_app_config(label), verbosity=0, using=using)
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
