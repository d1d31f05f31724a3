"""Tokens: what is kept of them, what they open, and when they open nothing."""

import hashlib
import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from judging.api.urls import api
from runs.accounts.tokens import create_token, revoke_token
from runs.api.authentication import Bearer
from runs.models import ApiToken, AuditEntry, Scope
from runs.models.people import SCOPE_NEEDS
from tests.runs.api.asking import Caller, told
from tests.runs.factories import client_of, make_run, make_user

pytestmark = pytest.mark.django_db
READ = "/api/v1/runs"


def test_only_the_hash_of_a_key_is_kept() -> None:
    token, key = create_token(owner=make_user(), name="x", scopes=[Scope.RUNS_READ], days=1)
    row = ApiToken.objects.filter(pk=token.pk).values().get()
    assert row["digest"] == hashlib.sha256(key.encode()).hexdigest()
    assert key.startswith(row["prefix"])
    assert len(key) - len(row["prefix"]) >= 35
    assert key[len(row["prefix"]) :] not in str(row)
    acts = str(list(AuditEntry.objects.values()))
    assert row["prefix"] in acts
    assert key not in acts


def test_what_opens_nothing_is_told_as_401() -> None:
    caller = Caller(make_user(), Scope.RUNS_READ)
    assert caller.get("/runs").status_code == 200
    wrong = [
        "",
        "Basic abc",
        "Bearer",
        "Bearer ",
        f"Bearer {caller.key[:-1]}",
        f"Bearer {caller.key}x",
        f"Bearer {caller.token.prefix}",
        f"Bearer {caller.token.digest}",
        "Bearer cck_ünïcode",
    ]
    for words in wrong:
        answer = Client().get(READ, headers={"Authorization": words})
        assert told(answer, 401)["type"].endswith("unauthenticated")
        assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_session_opens_nothing() -> None:
    client = client_of(make_user())
    told(client.get(READ), 401)
    told(client.post("/api/v1/reruns", "{}", content_type="application/json"), 401)


def test_expired_revoked_and_of_a_closed_account_it_opens_nothing() -> None:
    expired, revoked, closed = (Caller(make_user(), Scope.RUNS_READ) for _ in range(3))
    ApiToken.objects.filter(pk=expired.token.pk).update(expires_at=timezone.now())
    assert revoke_token(token=revoked.token)
    assert not revoke_token(token=revoked.token)
    closed.token.owner.is_active = False
    closed.token.owner.save()
    for caller in (expired, revoked, closed):
        told(caller.get("/runs"), 401)


def test_it_opens_what_its_scopes_name_and_its_owner_may() -> None:
    reader = Caller(make_user("engineer"), Scope.VERDICTS_READ)
    assert told(reader.get("/runs"), 403)["type"].endswith("scope-missing")
    annotator = Caller(make_user("annotator"))
    assert told(annotator.get("/tasks"), 403)["type"].endswith("permission-missing")
    assert annotator.get("/runs").json()["items"] == []
    assert reader.get("/evaluators").status_code == 200


@pytest.mark.slow
def test_when_it_was_last_used_is_noted_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller(make_user(), Scope.RUNS_READ)

    def used() -> object:
        return ApiToken.objects.get(pk=caller.token.pk).last_used_at

    now = timezone.now().replace(second=5)
    monkeypatch.setattr("runs.api.authentication.time.time", now.timestamp)
    caller.get("/runs")
    first = used()
    assert first is not None
    for _ in range(25):  # more than a process sets aside at a time
        caller.get("/runs")
    assert used() == first
    later = now + timedelta(seconds=90)
    monkeypatch.setattr("runs.api.authentication.time.time", later.timestamp)
    caller.get("/runs")
    assert used() != first


def test_by_command() -> None:
    user = make_user("engineer")
    run = make_run(pictures=False)
    out = StringIO()
    call_command(
        "create_token", user.username, "--scope", "runs:read", stdout=out, stderr=StringIO()
    )
    key = out.getvalue().strip()
    header = {"Authorization": f"Bearer {key}"}
    assert Client().get(READ, headers=header).json()["items"][0]["id"] == str(run.pk)
    call_command("revoke_token", key[:12], stdout=StringIO())
    told(Client().get(READ, headers=header), 401)


def test_on_the_page_a_key_is_shown_once_and_revoked_by_its_owner_alone() -> None:
    user, stranger = make_user("annotator"), make_user("engineer")
    client, other = Client(), Client()
    client.force_login(user)
    other.force_login(stranger)
    assert "No tokens yet" in client.get("/tokens/").content.decode()
    sent = {"name": "<b>mine", "scopes": ["runs:read", "verdicts:read"], "days": "30"}
    made = client.post("/tokens/", sent)
    token = ApiToken.objects.get()
    assert token.owner == user
    assert token.scopes == ["runs:read", "verdicts:read"]
    assert f'value="{token.prefix}' in made.content.decode()
    assert "<b>mine" not in made.content.decode()
    assert "no-store" in made["Cache-Control"]
    again = client.get("/tokens/").content.decode()
    assert token.prefix in again
    assert "new-key" not in again
    assert token.prefix not in other.get("/tokens/").content.decode()
    assert other.post(f"/tokens/{token.pk}/revoke/").status_code == 404
    assert client.post(f"/tokens/{token.pk}/revoke/").status_code == 302
    token.refresh_from_db()
    assert not token.is_live()
    refused = client.post("/tokens/", {"name": "", "scopes": "everything", "days": "4000"})
    assert refused.status_code == 422
    assert ApiToken.objects.count() == 1


def test_a_token_is_offered_for_no_more_than_its_owner_may() -> None:
    client = Client()
    client.force_login(make_user("annotator"))
    page = client.get("/tokens/").content.decode()
    assert re.findall(r'name="scopes" value="([^"]+)"', page) == ["runs:read", "verdicts:read"]
    sent = {"name": "mine", "scopes": ["runs:read", "runs:write"], "days": "30"}
    assert client.post("/tokens/", sent).status_code == 422
    assert not ApiToken.objects.exists()
    client.force_login(make_user("engineer"))
    assert client.get("/tokens/").content.decode().count('name="scopes"') == len(Scope)


def test_what_a_scope_needs_is_asked_wherever_it_is_used() -> None:
    routers = [router for _prefix, router in api._routers]
    views = [view for router in routers for view in router.path_operations.values()]
    uses = [each for view in views for one in view.operations for each in one.auth_callbacks]
    bearers = [each for each in (*uses, *(one.auth for one in routers)) if isinstance(each, Bearer)]
    assert {each.scope for each in bearers} == set(Scope)
    for each in bearers:
        assert set(SCOPE_NEEDS[each.scope]) <= set(each.permissions)
