"""/metrics: for those who may watch, of few labels, and without a word on what was judged."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from judging.models import Evaluation
from runs.models import ImportJob, LeasedWork, Run, RunStatus, User
from runs.operations.health import probes
from runs.operations.health.probes import SiteGauges, counts
from runs.storage.blobs import MissingBlobError, read_blob
from tests.runs.factories import make_run
from tests.runs.operations.test_probes import HOLDER, TOKEN, Told, watched
from tests.runs.storage.stores import files_in, store_blob, use_store
from webagent.llm.failures import RequestAttempt, tell
from webagent.llm.interface import Usage

pytestmark = pytest.mark.slow


def site(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], float]:
    """Every value of the site's gauges, by name and labels."""
    monkeypatch.setattr(probes, "examiner", Told(workers="none"))
    return {
        (sample.name.removeprefix("crosscheck_"), *sample.labels.values()): sample.value
        for metric in SiteGauges(kept_s=0).collect()
        for sample in metric.samples
    }


def test_strangers_find_no_such_page():
    assert Client().get("/metrics").status_code == 404
    with watched(METRICS_TOKEN=TOKEN):
        assert Client().get("/metrics").status_code == 404
        wrong = {"Authorization": "Bearer wrong"}
        assert Client().get("/metrics", headers=wrong).status_code == 404


@pytest.mark.django_db
def test_the_site_is_told_as_it_stands(monkeypatch: pytest.MonkeyPatch):
    now = timezone.now()
    for status in (RunStatus.QUEUED, RunStatus.QUEUED, RunStatus.RUNNING):
        make_run(status=status, queued_at=now - timedelta(minutes=5))
    Run.objects.filter(status=RunStatus.RUNNING).update(lease_expires_at=now - timedelta(seconds=1))
    make_run()
    ImportJob.objects.create(created_by=User.objects.create(username="a"), path="x", size=1)
    found = site(monkeypatch)
    assert [found["active_runs", status] for status in RunStatus.active()] == [2, 0, 1]
    assert 299 < found["oldest_run_seconds",] < 330
    assert found["expired_leases", "run"] == 1
    assert found["work", "importjob", LeasedWork.State.QUEUED] == 1
    assert found["oldest_work_seconds", "importjob"] < 30
    assert found["worker_beat_age_seconds", "browser"] == float("inf")
    assert (found["ready", "database"], found["ready", "workers"]) == (1, 0)
    assert ("broker_messages", "browser") in found


@pytest.mark.django_db
def test_it_costs_the_same_with_many_runs_and_nothing_soon_after(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probes, "examiner", Told())
    kept = SiteGauges(kept_s=60)
    with CaptureQueriesContext(connection) as first:
        list(kept.collect())
    with CaptureQueriesContext(connection) as second:
        list(kept.collect())
    assert 0 < len(first) < 25
    assert len(second) == 0
    # Whatever reads runs reads only those that have not ended.
    reading = [q["sql"] for q in first if 'FROM "runs_run"' in q["sql"]]
    assert reading
    assert all('"status"' in sql.split("WHERE")[1] for sql in reading)


def test_a_part_that_cannot_be_asked_is_missing_and_the_rest_there(monkeypatch: pytest.MonkeyPatch):
    def refuse():
        raise OSError("gone")

    monkeypatch.setattr(probes, "examiner", Told())
    for part in ("_runs", "_leased_work", "_workers", "_messages", "_size"):
        monkeypatch.setattr(probes, part, refuse)
    assert [metric.name for metric in SiteGauges().collect()] == ["crosscheck_ready"]


def test_labels_are_few_and_tell_no_verdict():
    words = "|".join(
        (metric.name + str(metric.documentation) + str(sample.labels))
        for metric in REGISTRY.collect()
        if metric.name.startswith("crosscheck")
        for sample in metric.samples
    )
    for hidden in (Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED):
        assert f"'result': '{hidden}'" not in words
    labels = {
        label
        for collector in REGISTRY._collector_to_names
        for label in getattr(collector, "_labelnames", ())
    }
    assert not labels & {"run", "run_id", "user", "username", "path", "task", "worker", "study"}


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_requests_are_counted_by_view_and_unknown_methods_as_one():
    before = counted("crosscheck_requests_total", view="none", method="other", status="404")
    for method in ("BREW", "PROPFIND"):
        Client().generic(method, "/nowhere/at/all/")
    after = counted("crosscheck_requests_total", view="none", method="other", status="404")
    assert after - before == 2


def test_tries_at_models_are_counted():
    names = {"model": "m-1"}
    tried = RequestAttempt(
        **names,
        result="ok",
        is_retry=True,
        seconds=1.5,
        usage=Usage(input_tokens=10, output_tokens=3),
        cost=Decimal("0.25"),
    )
    tell(tried)
    assert counted("crosscheck_llm_tries_total", **names, result="ok") == 1
    assert counted("crosscheck_llm_retries_total", **names) == 1
    assert counted("crosscheck_llm_tokens_total", **names, direction="read") == 10
    assert counted("crosscheck_llm_cost_dollars_total", **names) == 0.25


def test_a_worker_answers_those_who_hold_the_token():
    said: list[str] = []

    def start(status: str, _headers: object) -> None:
        said.append(status)

    assert b"crosscheck_attempts" in b"".join(probes.answer({}, start))  # type: ignore[arg-type]
    with watched(METRICS_TOKEN=TOKEN):
        assert not list(probes.answer({}, start))  # type: ignore[arg-type]
        asked = {"HTTP_AUTHORIZATION": HOLDER["Authorization"]}
        body = b"".join(probes.answer(asked, start))  # type: ignore[arg-type]
    assert said == ["200 OK", "404 Not Found", "200 OK"]
    assert list(text_string_to_metric_families(body.decode()))
    assert counts()


@override_settings(ENV=settings.ENV.model_copy(update={"METRICS_TOKEN": TOKEN}))
@pytest.mark.django_db
def test_those_who_may_watch_read_it_all(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probes, "examiner", Told())
    answer = Client().get("/metrics", headers=HOLDER)
    names = {family.name for family in text_string_to_metric_families(answer.content.decode())}
    assert {"crosscheck_requests", "crosscheck_active_runs", "crosscheck_ready"} <= names


@pytest.mark.django_db
def test_files_that_cannot_be_used_are_counted(settings: Any, tmp_path: Path):
    before = [counted("crosscheck_storage_errors_total", verb=verb) for verb in ("read", "write")]
    store = use_store(settings, tmp_path / "store")
    blob = store_blob(b"here today", "application/x-thing")
    for file in files_in(store):
        file.unlink()
    with pytest.raises(MissingBlobError):
        read_blob(blob)
    use_store(settings, tmp_path / "full", fails_at=1)
    with pytest.raises(OSError, match="space"):
        store_blob(b"too much", "application/x-thing")
    after = [counted("crosscheck_storage_errors_total", verb=verb) for verb in ("read", "write")]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1]
