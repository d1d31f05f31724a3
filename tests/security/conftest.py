"""One site for many looks at it."""

import pytest
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType

from runs.models import User
from tests.judging.studies.blind_world import World, make_world


@pytest.fixture(scope="module")
def world(kept_rows: None) -> World:
    """A site with something of everything, for all tests of a module."""
    ContentType.objects.clear_cache()
    return make_world()


@pytest.fixture(scope="module")
def overseer(world: World) -> User:
    """Somebody who takes part in nothing and may see everything."""
    person = User.objects.create_user("over", is_superuser=True, is_staff=True)
    person.groups.add(Group.objects.get(name="admin"))
    return person
