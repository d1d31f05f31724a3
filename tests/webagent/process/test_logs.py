"""Log lines carry what they belong to, and no secret."""

import json
import logging
import threading
from contextvars import copy_context

import pytest

from webagent.process import logs
from webagent.process.logs import JsonLineFormatter, LineFormatter, facts_now, logged_with

CANARIES = {
    "DATABASE_URL": "postgresql://crosscheck:canary-of-database@db/crosscheck",
    "OPENAI_API_KEY": "canary-of-a-provider",
    "SECRET_KEY": "canary-of-the-site-itself",
    "AWS_SECRET_ACCESS_KEY": "canary/of+the/bucket",
    "PWD": "/home/canary-that-sings",
}


@pytest.fixture(autouse=True)
def _given(monkeypatch: pytest.MonkeyPatch):
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    logs._own_secrets.cache_clear()
    yield
    logs._own_secrets.cache_clear()


def written(formatter: logging.Formatter, message: str, *args: object, **more: object) -> str:
    record = logging.LogRecord("runs.x", logging.WARNING, __file__, 1, message, args, None)
    record.__dict__.update(more)
    return formatter.format(record)


def test_a_line_is_one_object_with_what_it_belongs_to():
    with logged_with(request_id="r-1", user_id=lambda: 7, task_id=None), logged_with(run_id="run"):
        line = json.loads(written(JsonLineFormatter(), "saw %d\nlines", 2, status=200))
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning",
        "logger": "runs.x",
        "event": "saw 2\nlines",
        "request_id": "r-1",
        "user_id": 7,
        "run_id": "run",
        "status": 200,
    }
    assert "\n" not in written(JsonLineFormatter(), "a\nb")
    with logged_with(run_id="run"):
        assert written(LineFormatter("{message}", style="{"), "hello") == "hello [run_id=run]"


@pytest.mark.parametrize("formatter", [JsonLineFormatter(), LineFormatter("%(message)s")])
@pytest.mark.parametrize(
    "text",
    [
        "connecting to postgresql://crosscheck:canary-of-database@db/crosscheck",
        "redis://:canary@redis:6379/0 is away",
        "amqp://user:canary@host//",
        "Authorization: Bearer canary0123456789abc",
        "{'Cookie': 'sessionid=canary0123456789'}",
        "sessionid=canary0123456789; path=/",
        "password='canary'",
        "https://h/x?token=canary&y=1",
        "the key canary-of-a-provider was refused",
        "signed with canary-of-the-site-itself",
        "canary/of+the/bucket",
        "sk-canary0123456789canary0123456789",
    ],
)
def test_no_secret_is_written(formatter: logging.Formatter, text: str):
    assert "canary" not in written(formatter, text)
    assert "canary" not in written(formatter, "%s", text)
    try:
        raise ValueError(text)
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    line = written(formatter, "broke", exc_info=info)
    # The traceback quotes this file's own line, which is no secret.
    assert "ValueError" in line
    assert "canary" not in line


def test_fields_named_like_secrets_are_not_written_whatever_they_hold():
    line = written(
        JsonLineFormatter(), "x", api_key="canary", headers={"Cookie": "canary", "A": ["b", 1]}
    )
    assert json.loads(line)["headers"] == {"Cookie": "(redacted)", "A": ["b", 1]}
    assert "canary" not in line


def test_what_is_no_secret_stays():
    text = "run 12 of /home/canary-that-sings: GET http://h:80/a?b=1, 3 tokens"
    assert text in written(LineFormatter("%(message)s"), text)


def test_what_breaks_carries_the_facts_out():
    with pytest.raises(ZeroDivisionError) as caught, logged_with(run_id="run-9", attempt=2):
        _ = 1 / 0
    assert caught.value.__notes__ == ["run_id=run-9 attempt=2"]
    assert facts_now() == {}


def test_threads_that_are_given_the_context_know_it():
    found: list[dict[str, object]] = []
    with logged_with(work_id="w"):
        thread = threading.Thread(
            target=copy_context().run, args=(lambda: found.append(facts_now()),)
        )
        thread.start()
    thread.join()
    assert found == [{"work_id": "w"}]
