"""One site for many looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from runs.models import User
from tests.judging.studies.blind_world import World, make_world


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """A site with something of everything, for all tests of a module; gone after them."""
    with django_db_blocker.unblock(), transaction.atomic():
        ContentType.objects.clear_cache()
        yield make_world()
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def overseer(world: World) -> User:
    """Somebody who takes part in nothing and may see everything."""
    person = User.objects.create_user("over", is_superuser=True, is_staff=True)
    person.groups.add(Group.objects.get(name="admin"))
    return person
