"""Runs pushed while they happen: what is kept, what is refused, and how they end."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from runs.exports.services import bundle_of
from runs.models import Blob, Experiment, Run, Scope, Step
from runs.models.hooks import runs_ended
from runs.models.runs.queue import from_now
from runs.operations.integrity import all_invariants
from runs.queue.sweeping import sweep_runs
from runs.storage.blobs import BlobBatch, read_blob
from runs.storage.file_storage import blob_storage
from runs.storage.usage import spaces_of
from tests.runs.api.pushing import Pusher, opening, step
from tests.runs.factories import make_task, make_user
from webagent.trajectory.canonical import run_content_hash

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_push_races.py and test_races.py run on both"),
]


@pytest.fixture
def pusher() -> Pusher:
    return Pusher(make_user("engineer"))


@pytest.fixture
def ended() -> Any:
    """The ids of runs whose end was announced."""
    heard: list[UUID] = []

    def note(run_ids: Sequence[UUID], **_: object) -> None:
        heard.extend(run_ids)

    runs_ended.connect(note, weak=False)
    yield heard
    runs_ended.disconnect(note)


def silent(run: Run) -> None:
    """The lease of the run has run out."""
    Run.objects.filter(pk=run.pk).update(lease_expires_at=from_now(-1))


def assert_whole() -> None:
    assert [str(one) for invariant in all_invariants() for one in invariant.violations()] == []


@pytest.mark.slow
def test_a_run_is_live_until_it_ends_and_is_kept_as_it_was_sent(
    pusher: Pusher, ended: list[UUID], django_capture_on_commit_callbacks: Any
) -> None:
    run = pusher.open(seed=7, max_steps=5)
    assert (run.status, run.source_format, run.goal) == ("running", "push", "Buy a hose.")
    assert run.agent.model == "model-x"
    assert run.experiment is not None
    assert [pusher.step(run, index).status_code for index in range(3)] == [201, 201, 201]
    run.refresh_from_db()
    assert (run.status, run.n_steps, run.n_screenshots) == ("running", 3, 3)
    assert_whole()

    with django_capture_on_commit_callbacks(execute=True):
        answer = pusher.end(run, final_answer="Done.")
    assert answer.status_code == 200, answer.content
    assert answer.json()["state"] == "ended"
    run.refresh_from_db()
    assert (run.status, run.outcome, run.end_reason, run.reward) == (
        "finished",
        "success",
        "task_ended",
        1.0,
    )
    assert (run.input_tokens, run.output_tokens, str(run.cost)) == (300, 30, "0.003000")
    assert run.final_url == "http://shop.test/2"
    assert ended == [run.pk]
    last = run.steps.get(index=2)
    assert (last.target, last.box, last.point) == ('button "Next"', [10, 20, 60, 30], None)
    assert (last.kind, last.title, last.thought) == ("click", "Page 2", "Thought 2.")
    assert last.tree_id is not None
    assert read_blob(last.tree_id).startswith(b"RootWebArea 'Page 2'")
    bundle = bundle_of(run)
    assert run.content_hash == run_content_hash(bundle.task, bundle.run, bundle.steps)
    assert_whole()


@pytest.mark.slow
def test_the_same_word_twice_is_kept_once(pusher: Pusher, ended: list[UUID]) -> None:
    key = {"Idempotency-Key": "open-1"}
    first, again = (pusher.send("POST", "/runs", opening(), **key) for _ in range(2))
    assert first.json() == again.json()
    assert Run.objects.count() == 1
    run = Run.objects.get()
    assert [pusher.step(run, 0).status_code for _ in range(2)] == [201, 200]
    assert Step.objects.count() == 1
    other = pusher.step(run, 0, thought="Another.")
    assert (other.status_code, other.json()["errors"]) == (
        409,
        [{"field": "next_step", "reason": "1"}],
    )
    assert [pusher.end(run).status_code for _ in range(2)] == [200, 200]
    assert pusher.end(run, outcome="failure").status_code == 409
    assert pusher.step(run, 0).status_code == 410


def test_steps_come_in_order(pusher: Pusher) -> None:
    run = pusher.open()
    early = pusher.step(run, 1)
    assert early.status_code == 409
    assert early.json()["errors"] == [{"field": "next_step", "reason": "0"}]
    assert not Blob.objects.exists()
    assert pusher.step(run, 0).json()["next_step"] == 1
    assert pusher.send("GET", f"/runs/{run.pk}/push").json()["next_step"] == 1


@pytest.mark.slow
def test_who_is_silent_is_ended_as_incomplete(
    pusher: Pusher, ended: list[UUID], django_capture_on_commit_callbacks: Any
) -> None:
    run = pusher.open()
    pusher.step(run, 0)
    sweep_runs()
    run.refresh_from_db()
    assert run.status == "running"
    silent(run)
    with django_capture_on_commit_callbacks(execute=True):
        sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.outcome, run.end_reason) == ("finished", "incomplete", "killed")
    assert run.ended_at == run.heartbeat_at
    assert (run.reward, run.fault, run.error_origin) == (None, "", "harness")
    assert run.content_hash
    assert ended == [run.pk]
    assert [Run.objects.count(), run.steps.count()] == [1, 1]
    assert pusher.step(run, 1).status_code == 410
    assert pusher.send("PUT", f"/runs/{run.pk}/heartbeat").status_code == 410
    assert pusher.end(run).status_code == 409
    assert_whole()


def test_a_word_renews_the_lease_even_when_it_is_late(pusher: Pusher) -> None:
    run = pusher.open()
    silent(run)
    assert pusher.send("PUT", f"/runs/{run.pk}/heartbeat").status_code == 200
    sweep_runs()
    run.refresh_from_db()
    assert run.status == "running"


def test_workers_never_take_it(pusher: Pusher) -> None:
    run = pusher.open()
    silent(run)
    assert Run.objects.claim_next(owner="worker", lease_s=60) is None
    assert Run.objects.claim(run.pk, owner="worker", lease_s=60) is None
    assert not Run.objects.held_here().exists()


@pytest.mark.slow
def test_it_can_be_asked_to_stop(pusher: Pusher) -> None:
    run = pusher.open()
    Run.objects.request_cancel(run.pk)
    assert pusher.step(run, 0).json()["is_to_cancel"] is True
    silent(run)
    sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.outcome, run.end_reason) == ("cancelled", "incomplete", "cancelled")
    assert_whole()


def test_a_task_that_is_here_stays_as_it_is(pusher: Pusher) -> None:
    task = make_task("task-1", spec={"eval_types": ["string_match"]})
    named = {"task_set": "webarena", "id": "task-1", "goal": "Another goal."}
    run = pusher.open(task=named)
    assert (run.task, run.goal) == (task, "Another goal.")
    task.refresh_from_db()
    assert task.goal == "Find the cheapest hose and put it in the basket"
    unknown = pusher.send("POST", "/runs", opening(task={"task_set": "webarena", "id": "none"}))
    assert unknown.status_code == 422
    assert unknown.json()["errors"][0]["field"] == "body.task.id"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"observation": {"screenshot": "bm8gcGljdHVyZQ=="}}, "body.observation.screenshot"),
        ({"observation": {"screenshot": "*"}}, "body.observation.screenshot"),
        ({"observation": {"screenshot": "PHN2ZyB4bWxucz0iIj48L3N2Zz4="}}, "screenshot"),
        ({"calls": [{"name": "click"}]}, "body"),
        ({"cost": "-1"}, "cost"),
        ({"thoughts": "misspelt"}, "thoughts"),
        ({"observation": {"boxes": {"a": [1, 2, 3, 1e300]}}}, "boxes"),
        ({"started_at": "0001-01-01T00:00:00+14:00"}, "started_at"),
        ({"ended_at": "9999-12-31T23:59:59-14:00"}, "ended_at"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_field(
    pusher: Pusher, wrong: dict[str, Any], field: str
) -> None:
    run = pusher.open()
    answer = pusher.step(run, 0, **wrong)
    assert answer.status_code == 422, answer.content
    assert field in answer.json()["errors"][0]["field"]
    assert not Step.objects.exists()


def test_secrets_are_taken_out_and_counted(pusher: Pusher) -> None:
    run = pusher.open()
    seen = {
        "url": "http://shop.test/?token=abcdef123",
        "axtree": "RootWebArea 'Log in'\n\t[9] textbox 'Password' value='hunter22'",
    }
    pusher.step(
        run,
        0,
        observation=seen,
        action="fill('9', 'hunter22')",
        thought="I type hunter22.",
        extra={"cookies": [{"name": "sid", "value": "geheim"}]},
    )
    row = run.steps.get()
    kept = f"{row.to_record()} {read_blob(row.tree_id or '').decode()}"
    assert not any(secret in kept for secret in ("hunter22", "abcdef123", "geheim"))
    run.refresh_from_db()
    assert run.record["source"]["redacted"]["password"] >= 3
    pusher.end(run)
    run.refresh_from_db()
    assert run.record["source"]["redacted"]["cookie"] == 1


def test_only_its_own_side_can_push_it(pusher: Pusher) -> None:
    run = pusher.open()
    stranger = Pusher(make_user("engineer"))
    assert stranger.step(run, 0).status_code == 404
    assert stranger.end(run).status_code == 404
    reader = Pusher(make_user("engineer"), Scope.RUNS_READ)
    assert reader.send("POST", "/runs", opening()).status_code == 403
    annotator = Pusher(make_user("annotator"))
    assert annotator.send("POST", "/runs", opening()).status_code == 403
    assert pusher.send("PUT", f"/runs/{uuid4()}/steps/0", step(0)).status_code == 404


def test_a_crash_between_files_and_row_leaves_only_files(pusher: Pusher) -> None:
    run = pusher.open()
    with (
        patch.object(BlobBatch, "save", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        pusher.step(run, 0)
    run.refresh_from_db()
    assert (run.n_steps, Step.objects.count(), Blob.objects.count()) == (0, 0, 0)
    assert pusher.step(run, 0).status_code == 201


def test_a_full_disk_is_said_and_leaves_nothing(pusher: Pusher) -> None:
    run = pusher.open()
    full = OSError(28, "No space left on device")
    with patch.object(BlobBatch, "add", side_effect=full):
        assert pusher.step(run, 0).status_code == 507
    assert not Step.objects.exists()


@pytest.mark.slow
def test_a_step_costs_the_same_however_many_came_before(
    pusher: Pusher, django_assert_max_num_queries: Any
) -> None:
    run = pusher.open()
    for index in range(4):
        pusher.step(run, index)
    with django_assert_max_num_queries(18):
        assert pusher.step(run, 4).status_code == 201


def test_structured_actions_and_those_of_other_tools(pusher: Pusher) -> None:
    run = pusher.open()
    calls = [{"name": "navigate", "arguments": {"url": "http://x.test/"}, "error": "no network"}]
    pusher.step(run, 0, action=None, calls=calls, dialect="browser_use")
    pusher.step(run, 1, action=None, error="no reply")
    first, second = run.steps.order_by("index")
    assert (first.kind, first.error) == ("nav", "no network")
    assert first.action == 'navigate(url="http://x.test/")'
    assert second.record["extra"] == {"problem": "no reply"}


@pytest.mark.slow
def test_a_step_that_its_experiment_has_no_room_for_is_refused_whole(pusher):
    experiment = Experiment.objects.create(name="pushed")
    run = pusher.open()
    assert pusher.step(run, 0).status_code == 201
    held = spaces_of([run.pk])[0].total
    Experiment.objects.filter(pk=experiment.pk).update(max_bytes=held + 1)
    before = (Blob.objects.count(), sum(1 for _ in blob_storage().walk()))
    refused = pusher.step(run, 1)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "body.experiment"
    assert "may take" in refused.json()["errors"][0]["reason"]
    run.refresh_from_db()
    assert (run.n_steps, run.is_active) == (1, True)
    assert (Blob.objects.count(), sum(1 for _ in blob_storage().walk())) == before
    assert pusher.step(run, 0).status_code == 200
    Experiment.objects.filter(pk=experiment.pk).update(max_bytes=10 * held)
    assert pusher.step(run, 1).status_code == 201
    assert pusher.end(run).status_code == 200


def test_a_run_that_its_experiment_has_no_room_for_is_refused(pusher):
    Experiment.objects.create(name="pushed", max_runs=1)
    pusher.open()
    refused = pusher.send("POST", "/runs", opening())
    assert refused.status_code == 422
    assert "may hold 1" in refused.json()["errors"][0]["reason"]
    assert Run.objects.count() == 1


def test_the_list_of_runs_leaves_out_what_was_put_away(pusher):
    away, here = pusher.open(), pusher.open()
    Run.objects.filter(pk=away.pk).update(archived_at=timezone.now())
    for query, run in (("", here), ("?archived=true", away), ("?archived=false", here)):
        [listed] = pusher.send("GET", f"/runs{query}").json()["items"]
        assert listed["id"] == str(run.pk)
