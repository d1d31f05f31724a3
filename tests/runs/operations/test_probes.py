"""/livez, /readyz and /metrics: bounded, open to machines, and telling strangers nothing."""

from __future__ import annotations

import threading
import time

import pytest
from django.conf import settings
from django.test import Client, override_settings

from runs.models import WorkerBeat
from runs.operations.health import checks, probes
from runs.operations.health.checks import (
    Examiner,
    Readiness,
    check_eviction,
    check_migrations,
    check_workers,
)
from runs.queue.workers import all_duties, beat, beat_ages

TOKEN = "for-those-who-watch-over-it"
HOLDER = {"Authorization": f"Bearer {TOKEN}"}
CHECKS = ["database", "migrations", "storage", "work", "broker", "eviction", "workers"]
WELL = dict.fromkeys(CHECKS, "ok")


def watched(**changes: object):
    return override_settings(ENV=settings.ENV.model_copy(update=changes))


class Told:
    """An examiner that was told what to say."""

    def __init__(self, **found: str) -> None:
        self.found = WELL | found

    def look(self) -> Readiness:
        return Readiness(self.found)


def readyz(
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str] | None = None,
    found: dict[str, str] | None = None,
):
    monkeypatch.setattr(probes, "examiner", Told(**found or {}))
    monkeypatch.setattr(probes, "beat_ages", lambda: {"browser": 1.0})
    return Client().get("/readyz", headers=headers or {})


def test_a_process_lives_without_a_database_and_under_any_name():
    answer = Client().get("/livez", headers={"Host": "10.0.0.7:8000"})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert Client().post("/livez").status_code == 405


@pytest.mark.parametrize(
    ("found", "status", "word"),
    [
        ({}, 200, "ok"),
        ({"workers": "none", "broker": "gone"}, 200, "degraded"),
        ({"database": "gone"}, 503, "failing"),
        ({"migrations": "behind"}, 503, "failing"),
        ({"work": "nobody takes it"}, 503, "failing"),
        ({"storage": "full"}, 503, "failing"),
    ],
)
def test_only_what_pages_need_makes_it_unready(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, str], status: int, word: str
):
    answer = readyz(monkeypatch, None, found)
    assert (answer.status_code, answer.json()) == (status, {"status": word})


def test_details_are_for_those_who_may_watch(monkeypatch: pytest.MonkeyPatch):
    with watched(METRICS_TOKEN=TOKEN):
        assert readyz(monkeypatch, {"Authorization": "Bearer other"}).json() == {"status": "ok"}
        told = readyz(monkeypatch, HOLDER).json()
    assert told == {"status": "ok", "checks": WELL, "seconds_since_beat": {"browser": 1.0}}
    assert readyz(monkeypatch, HOLDER).json() == {"status": "ok"}  # no token is set


@pytest.mark.parametrize(
    ("forwarded", "proxies", "may"),
    [
        (None, 0, True),  # called directly, from 127.0.0.1
        ("10.1.2.3", 1, True),
        ("203.0.113.9", 1, False),
        ("10.1.2.3, 203.0.113.9", 1, False),  # the first was sent by the visitor
    ],
)
def test_a_network_may_watch(
    monkeypatch: pytest.MonkeyPatch, forwarded: str | None, proxies: int, may: bool
):
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    with (
        watched(METRICS_NETWORKS=["127.0.0.0/8", "10.0.0.0/8"]),
        override_settings(PROXIES=proxies),
    ):
        assert ("checks" in readyz(monkeypatch, headers).json()) is may


def test_a_check_that_hangs_or_breaks_holds_nobody_up():
    let_go = threading.Event()

    def hang() -> str:
        let_go.wait(60)
        return "ok"

    def break_down() -> str:
        raise ZeroDivisionError

    examiner = Examiner({"well": lambda: "ok", "hung": hang, "broken": break_down}, 0.1, 0)
    expected = {"well": "ok", "hung": "gives no answer within 0.1 s", "broken": "cannot be told"}
    begun = time.monotonic()
    for _ in range(3):
        assert examiner._ask_all() == expected
    assert time.monotonic() - begun < 30
    assert len(examiner._threads._threads) <= 3  # the site's own examiner has others
    let_go.set()
    assert Examiner({"well": lambda: "ok"}, 1, 60)._ask_all() == {"well": "ok"}


def test_strangers_cannot_make_it_look_again_and_again():
    looks: list[str] = []

    def look() -> str:
        looks.append("")
        return "ok"

    examiner = Examiner(dict.fromkeys(WELL, look), 1, 60)
    assert examiner.look() is examiner.look()
    assert len(looks) == len(WELL)


class Server:
    """A Redis that says how it treats messages when it is full."""

    def __init__(self, policy: str | None) -> None:
        self.policy = policy

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def info(self, section: str) -> dict[str, str]:
        assert section == "memory"
        if self.policy is None:
            raise OSError
        return {"maxmemory_policy": self.policy}


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ("noeviction", "ok"),
        ("allkeys-lru", "maxmemory-policy is allkeys-lru, not noeviction"),
        (None, "unknown without a broker"),
    ],
)
def test_a_broker_that_throws_messages_away_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, policy: str | None, word: str
):
    monkeypatch.setattr(checks, "broker", lambda: Server(policy))
    with watched(REDIS_URL="redis://somewhere:6379/0"):
        assert check_eviction() == word
        checks.warn_of_eviction()
    assert ("throw messages away" in caplog.text) is (policy == "allkeys-lru")


@pytest.mark.django_db
def test_single_looks(monkeypatch: pytest.MonkeyPatch):
    checks._is_migrated.cache_clear()
    assert check_migrations() == "ok"
    monkeypatch.setattr(
        "runs.operations.health.checks.MigrationExecutor.migration_plan", lambda *_: [1, 2]
    )
    assert check_migrations() == "ok"  # what was well for this code stays so
    checks._is_migrated.cache_clear()
    assert check_migrations() == "2 migrations are not applied"
    checks._is_migrated.cache_clear()
    assert "browser" in check_workers()
    assert beat_ages() == dict.fromkeys(sorted(all_duties()))
    beat("all@a", sorted(all_duties()))
    assert check_workers() == "ok"
    WorkerBeat.objects.filter(pk="all@a").update(queues=["judge"])
    ages = beat_ages()
    assert ages["browser"] is None
    assert ages["judge"] is not None
    assert 0 <= ages["judge"] < 60
    assert {*checks.NEEDED, *checks.PROMISED, *checks.MISSED} == set(WELL)
