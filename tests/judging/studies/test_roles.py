"""Roles and the command that makes accounts."""

import io
import sys
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import CommandError, call_command
from django.test import Client

from judging.extension import TAKES, address, may_open
from judging.studies.access import ENGINEER, TAG_FAILURES, Role, sync_roles
from runs.models import User
from runs.models.hooks import LinkedPage
from tests.runs.factories import client_of, make_user

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("create_user", *arguments, stdout=out)
    return out.getvalue()


def test_the_groups_exist_on_every_database_with_exactly_their_permissions() -> None:
    def permissions(role: Role) -> set[str]:
        group = Group.objects.get(name=role)
        return {
            f"{p.content_type.app_label}.{p.codename}"
            for p in group.permissions.select_related("content_type")
        }

    assert permissions(Role.ANNOTATOR) == {TAG_FAILURES}
    assert permissions(Role.ADJUDICATOR) == {"judging.adjudicate", TAG_FAILURES}
    assert permissions(Role.ENGINEER) == set(ENGINEER)
    assert permissions(Role.ADMIN) > set(ENGINEER) | {"judging.adjudicate", "runs.add_user"}


def test_syncing_again_repairs_a_role_and_keeps_its_people() -> None:
    group = Group.objects.get(name=Role.ENGINEER)
    person = User.objects.create(username="eve")
    person.groups.add(group)
    group.permissions.clear()
    sync_roles()
    assert group.permissions.count() == len(ENGINEER)
    assert person.groups.get() == group


def test_what_a_person_may_do_is_their_groups_and_their_own_and_asked_once(
    django_assert_num_queries: Any,
) -> None:
    person = User.objects.create(username="eve")
    person.groups.set(Group.objects.filter(name__in=[Role.ADJUDICATOR, Role.ANNOTATOR]))
    person.user_permissions.add(Permission.objects.get(codename="view_run"))
    User.objects.create(username="another").groups.add(Group.objects.get(name=Role.ENGINEER))
    with django_assert_num_queries(2):  # their own, and their groups'
        assert person.get_all_permissions() == {"judging.adjudicate", TAG_FAILURES, "runs.view_run"}
        assert not person.has_perm("runs.rerun_run")
    person.is_active = False
    assert not person.has_perm("judging.adjudicate")
    person = User.objects.get(username="eve")
    person.groups.clear()
    assert User.objects.get(username="eve").get_all_permissions() == {"runs.view_run"}


@pytest.mark.sqlite_only("tests what pages show")
@pytest.mark.parametrize("page", TAKES)
def test_a_page_is_offered_to_whom_it_opens(page: str) -> None:
    of_something = (LinkedPage.EXPERIMENT, LinkedPage.HINT_REPORT, LinkedPage.MILESTONE_PROPOSALS)
    path = address(page, [1] if page in of_something else [])

    def opens(*names: str) -> bool:
        user = make_user("annotator")
        user.groups.clear()
        codes = [name.partition(".")[2] for name in names]
        user.user_permissions.set(Permission.objects.filter(codename__in=codes))
        ask = client_of(user).post if page == LinkedPage.EVALUATE_RUNS else client_of(user).get
        answer = ask(path).status_code != 403
        assert may_open(user, page) is answer
        return answer

    assert opens(*TAKES[page])
    for lacking in TAKES[page]:
        assert not opens(*(name for name in TAKES[page] if name != lacking))


def test_a_generated_password_is_printed_and_works() -> None:
    said = run("ann", "--role", "annotator")
    password = said.split()[-1]
    assert len(password) >= 16
    assert Client().login(username="ann", password=password)
    assert [group.name for group in User.objects.get().groups.all()] == ["annotator"]


def test_a_given_password_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("violet-harbour-12\n"))
    said = run("eve", "--role", "engineer", "--password-stdin")
    monkeypatch.setenv("ADA_PASSWORD", "violet-harbour-13")
    said += run("ada", "--role", "admin", "--password-env", "ADA_PASSWORD")
    assert "violet" not in said
    assert Client().login(username="eve", password="violet-harbour-12")
    assert Client().login(username="ada", password="violet-harbour-13")
    assert User.objects.get(username="ada").is_staff
    assert not User.objects.get(username="eve").is_staff


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ann", "--role", "annotator"], "already exists"),
        (["b c", "--role", "annotator"], "valid username"),
        (["bob", "--role", "annotator", "--password-env", "NOT_SET"], "NOT_SET is not set"),
        (["bob", "--role", "annotator", "--password-env", "WEAK"], "too short"),
        (["bob", "--role", "annotator", "--password-env", "EMPTY"], "too short"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create(username="ann")
    monkeypatch.setenv("WEAK", "short")
    monkeypatch.setenv("EMPTY", "")
    with pytest.raises(CommandError, match=says):
        run(*arguments)
    assert User.objects.count() == 1
