"""Making accounts."""

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from judging.roles import Role
from runs.models import User


@transaction.atomic
def create_user(*, name: str, role: Role, password: str) -> User:
    """A new account with one role; administrators also reach the administration pages.

    Raises:
        django.core.exceptions.ValidationError: the name is not a valid one or taken, or the
            password is too weak.
    """
    user = User(username=User.normalize_username(name), is_staff=role is Role.ADMIN)
    validate_password(password, user)
    user.set_password(password)
    user.full_clean()
    user.save()
    user.groups.add(Group.objects.get(name=role))
    return user
