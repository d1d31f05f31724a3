"""Twenty secrets, planted in the environment and in accounts, and looked for in what goes out."""

import inspect
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import current_app
from django.core.management import call_command
from django.test import Client

from runs.accounts.tokens import create_token
from runs.catalogue.tasks import views as task_views
from runs.models import Scope
from tests.runs.factories import PASSWORD, make_user
from webagent.process import logs
from webagent.process.logs import JsonLineFormatter, LineFormatter

ROOT = Path(__file__).parents[2]
PLANTED = {
    **{
        name: f"canary-{name.lower()}-7f3a9c"
        for name in (
            *("SECRET_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "HF_TOKEN"),
            *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "METRICS_TOKEN", "GITHUB_TOKEN"),
            *("POSTGRES_PASSWORD", "REDIS_PASSWORD", "SMTP_PASSWORD", "LDAP_BIND_PASSWORD"),
            *("SITE_PASSWORD", "CLIENT_SECRET", "SLACK_TOKEN", "JWT_SECRET"),
        )
    },
    "DATABASE_URL": "postgresql://crosscheck:canary-of-database@db/crosscheck",
    "REDIS_URL": "redis://:canary-of-redis@redis:6379/0",
    "HTTPS_PROXY": "http://proxy-user:canary-of-proxy@proxy:3128",
}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    logs._own_secrets.cache_clear()
    yield
    logs._own_secrets.cache_clear()


def written_by(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    record.exc_text = None
    return formatter.format(record)


@pytest.mark.django_db
def test_what_breaks_tells_no_secret(
    planted: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the page that a person sees, nor the lines that are logged of it."""

    def breaks(*_: object, **__: object) -> None:
        secrets = dict(PLANTED)
        raise RuntimeError(f"cannot go on with {secrets}")

    monkeypatch.setattr(task_views, "TaskFilter", breaks)
    client = Client(raise_request_exception=False)
    client.force_login(make_user("engineer"))
    page = client.get("/tasks/")
    assert page.status_code == 500
    assert b"canary" not in page.content
    broken = [record for record in caplog.records if record.exc_info]
    assert broken
    for record in broken:
        for formatter in (LineFormatter(), JsonLineFormatter()):
            said = written_by(formatter, record)
            assert "RuntimeError" in said
            assert "canary-" not in said


@pytest.mark.django_db
def test_the_database_holds_neither_passwords_nor_keys(planted: None, settings) -> None:
    settings.AXES_ENABLED = True
    user = make_user("engineer", "ann")
    _, key = create_token(owner=user, name="ci", scopes=[Scope.RUNS_READ], days=3)
    client = Client()
    client.post("/login/", {"username": "ann", "password": "guess-that-was-wrong"})
    client.post("/login/", {"username": "ann", "password": PASSWORD})
    client.get("/runs/", headers={"Authorization": f"Bearer {key}"})
    call_command("dumpdata", "runs", "sessions", "axes", "admin", stdout=(dump := io.StringIO()))
    whole = dump.getvalue()
    assert '"username": "ann"' in whole
    for secret in (PASSWORD, "guess-that-was-wrong", key, key[12:], *PLANTED.values()):
        assert secret not in whole


def test_messages_to_workers_carry_keys_of_rows_and_nothing_else() -> None:
    ours = {name: task for name, task in current_app.tasks.items() if name[:4] in ("runs", "judg")}
    assert len(ours) > 5
    for name, task in ours.items():
        parameters = inspect.signature(task.run).parameters.values()
        told = {parameter.name: parameter.annotation for parameter in parameters}
        assert all(key.endswith("_id") for key in told), name
        assert set(told.values()) <= {"str", "int", str, int}, name


def test_what_makes_prompts_reads_no_environment() -> None:
    """Keys are read where a provider's client is made, which sees no text of a run."""
    packages = ("judging/judges", "webagent/agents", "webagent/knowledge", "webagent/llm")
    reading = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"os\.environ|getenv|django\.conf", path.read_text())
    }
    assert not {path for path in reading if not path.startswith("webagent/llm/")}
