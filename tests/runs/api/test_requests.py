"""What holds for every request: one shape of errors, limits, pages by cursor, few queries."""

import base64
import json
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs.api import authentication
from runs.models import Run, Scope
from tests.runs.api.asking import Caller, fields, told
from tests.runs.factories import make_run, make_task, make_user

pytestmark = pytest.mark.django_db
RERUN = {"runs": ["00000000-0000-4000-8000-000000000000"]}


@pytest.fixture
def engineer() -> Caller:
    return Caller(make_user("engineer"))


def test_whatever_is_wrong_is_told_in_one_shape(engineer: Caller) -> None:
    told(engineer.get("/nothing/here"), 404)
    told(engineer.get("/runs/00000000-0000-4000-8000-000000000000"), 404)
    told(engineer.get("/runs/no-id"), 404)
    told(engineer.client.delete("/api/v1/runs"), 405)
    told(engineer.post("/reruns", b"nope"), 400)
    told(engineer.client.get("/api/v1/runs?site=%00"), 400)
    told(engineer.client.post("/api/v1/reruns", "x", content_type="text/plain"), 415)
    odd = engineer.client.post(
        f"/api/v1/reruns/{RERUN['runs'][0]}/cancel",
        "x",
        content_type="multipart/form-data",
        headers={"Idempotency-Key": "k"},
    )
    told(odd, 404)
    assert fields(engineer.post("/reruns", {"runs": [], "trials": 0, "more": 1})) == [
        "body.runs",
        "body.trials",
        "body.more",
    ]
    assert fields(engineer.post("/reruns", RERUN)) == ["body.runs.0"]
    assert fields(engineer.get("/runs?limit=0&site=x")) == ["query.limit"]
    assert fields(engineer.get("/runs?siet=x")) == ["query.siet"]
    assert fields(engineer.get(f"/tasks/{2**63}")) == ["path.task_id"]
    told(Client().get("/api/v1/"), 404)


def test_what_breaks_here_is_told_without_what_it_was(
    engineer: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("runs.api.runs.page_of", breaks)
    answer = engineer.get("/runs")
    told(answer, 500)
    assert b"secret" not in answer.content
    assert "secret words" in caplog.text


@pytest.mark.slow
@pytest.mark.fault(3, "the database is away, or has no room, while the API is asked")
@pytest.mark.parametrize(
    ("words", "status", "after"),
    [("server closed the connection", 503, "5"), ("database or disk is full", 507, None)],
)
def test_what_is_away_or_full_here_is_told_apart_from_what_is_broken(
    engineer: Caller, monkeypatch: pytest.MonkeyPatch, words: str, status: int, after: str | None
) -> None:
    def is_away(*_: object, **__: object) -> None:
        raise OperationalError(words)

    monkeypatch.setattr("runs.api.runs.page_of", is_away)
    answer = engineer.get("/runs")
    told(answer, status)
    assert answer.get("Retry-After") == after


def test_bodies_are_bounded_and_larger_than_forms_may_be(
    engineer: Caller, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"runs": RERUN["runs"], "experiment": "x" * 3_000_000}
    assert fields(engineer.post("/reruns", long)) == ["body.experiment"]
    monkeypatch.setattr(settings.ENV, "API_MAX_BODY_BYTES", 2000)
    assert told(engineer.post("/reruns", long), 413)["type"].endswith("too-large")


@pytest.mark.slow
def test_a_minute_has_so_many_requests_over_all_processes(
    engineer: Caller, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.ENV, "API_REQUESTS_PER_MINUTE", 9)
    monkeypatch.setattr(authentication, "AT_A_TIME", 4)
    monkeypatch.setattr("runs.api.authentication.time.time", lambda: 1_800_000_010.0)
    granted = []
    for number in range(12):
        if number == 6:
            authentication._left.clear()  # another process answers
        granted.append(engineer.get("/runs?limit=1").status_code == 200)
    # The first process had set four aside and then four more, of which two are lost.
    assert granted == [True] * 7 + [False] * 5
    answer = engineer.get("/runs")
    told(answer, 429)
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert Caller(make_user()).get("/runs").status_code == 200  # each token has its own
    monkeypatch.setattr("runs.api.authentication.time.time", lambda: 1_800_000_070.0)
    assert engineer.get("/runs").status_code == 200


def _walk(caller: Caller, path: str, between: Any = lambda: None) -> list[str]:
    ids, cursor = [], None
    while True:
        page = caller.get(path + (f"&cursor={cursor}" if cursor else "")).json()
        ids += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if not cursor:
            return ids
        between()


def test_pages_neither_repeat_nor_lose_a_run_while_others_come_in(engineer: Caller) -> None:
    task = make_task()
    runs = [make_run(task=task, steps=0, status="queued") for _ in range(7)]
    same = runs[0].created_at  # imports write many runs at one moment
    Run.objects.update(created_at=same)
    there = [str(run.pk) for run in Run.objects.order_by("-created_at", "-id")]
    assert _walk(engineer, "/runs?limit=3", lambda: make_run(task=task, steps=0)) == there
    assert _walk(engineer, "/runs?limit=200")[2:] == there


def test_a_cursor_of_another_list_is_refused(engineer: Caller) -> None:
    make_task(), make_task()
    cursor = engineer.get("/tasks?limit=1").json()["next"]
    assert fields(engineer.get(f"/runs?cursor={cursor}")) == ["query.cursor"]
    for broken in ("x", "W10", "bnVsbA", "WyIyMDI2IiwgIngiXQ", "%F0%9F%98%80", "a" * 301):
        assert fields(engineer.get(f"/runs?cursor={broken}")) == ["query.cursor"]


@pytest.mark.parametrize("path", ["/runs", "/batches", "/experiments"])
@pytest.mark.parametrize(
    "moment",
    [5, 2**62, True, "2026-11-28", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"],
)
def test_a_cursor_without_an_instant_is_refused(
    engineer: Caller, path: str, moment: object
) -> None:
    key = json.dumps([moment, "00000000-0000-0000-0000-000000000001"])
    cursor = base64.urlsafe_b64encode(key.encode()).decode()
    assert fields(engineer.get(f"{path}?cursor={cursor}")) == ["query.cursor"]


@pytest.mark.slow
def test_a_list_takes_as_many_queries_however_long(
    engineer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "MINUTE_S", 10**12)  # sets nothing aside meanwhile

    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert engineer.get(path).status_code == 200
        return len(captured)

    run = make_run(steps=2)
    engineer.get("/runs")  # sets requests aside
    paths = ["/runs", f"/runs/{run.pk}", f"/runs/{run.pk}/steps", "/tasks", "/experiments"]
    few = {path: queries(path) for path in paths}
    for _ in range(6):
        make_run(steps=1)
    assert {path: queries(path) for path in paths} == few
    assert max(few.values()) <= 9


def test_the_filters_of_the_page_filter_here(engineer: Caller) -> None:
    good = make_run(steps=0, task=make_task(site="maps"))
    make_run(steps=0, outcome="failure")
    assert _walk(engineer, "/runs?site=maps&site=other") == [str(good.pk)]
    assert _walk(engineer, "/runs?outcome=success&limit=1") == [str(good.pk)]
    assert fields(engineer.get("/runs?reference=success")) == ["query.reference"]


def test_files_of_a_run_are_fetched_by_their_hash(engineer: Caller) -> None:
    run, other = make_run(steps=1), make_run(steps=1, pictures=False)
    (step,) = engineer.get(f"/runs/{run.pk}/steps").json()["items"]
    answer = engineer.get(f"/runs/{run.pk}/blobs/{step['screenshot']}")
    assert answer["Content-Type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    told(engineer.get(f"/runs/{other.pk}/blobs/{step['screenshot']}"), 404)
    told(Caller(make_user("annotator")).get(f"/runs/{run.pk}/blobs/{step['screenshot']}"), 404)
    told(Caller(make_user(), Scope.RUNS_WRITE).get(f"/runs/{run.pk}"), 403)
