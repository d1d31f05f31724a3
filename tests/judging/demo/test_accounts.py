"""The first start of a site that has data, and nobody who could log in."""

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from judging.models import Study
from runs.models import User
from tests.runs.factories import make_run, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_installation(settings: Settings) -> None:
    settings.ALLOWS_DEMO = True


def test_where_runs_are_and_nobody_can_log_in_the_accounts_are_made(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run()
    User.objects.create_user("named by an import")  # without a password
    call_command("load_demo", "--if-empty")
    assert "engineer     password demo-engineer" in capsys.readouterr().out
    assert Client().login(username="engineer", password="demo-engineer")
    assert not Study.objects.exists()


def test_where_somebody_can_log_in_nothing_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    make_run()
    person = make_user("engineer")
    person.set_password("their own")
    person.save()
    n_people = User.objects.count()
    call_command("load_demo", "--if-empty")
    assert capsys.readouterr().out == ""
    assert User.objects.count() == n_people
