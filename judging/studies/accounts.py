"""Making accounts."""

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from judging.studies.roles import Role
from runs.accounts.audit_log import record_act
from runs.models import User
from runs.models.audit_kinds import ACCOUNT_MADE


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
    record_act(ACCOUNT_MADE, about=user, words=user.username, after=role)
    return user
