"""Storing a run that was read: everything, once, all or nothing."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.db import DatabaseError, IntegrityError, connection, transaction

from runs.imports import session as import_session
from runs.imports import storing
from runs.imports.rows import stored_run
from runs.imports.session import ImportSession
from runs.imports.storing import ImportedRun, StoringError, import_bundle, import_runs
from runs.models import AgentConfiguration, Attachment, Blob, Event, Run, RunStatus, Step, Task
from runs.models.hooks import announce_ends, runs_ended
from runs.storage.blobs import read_blob
from runs.storage.records import action_text
from tests.runs.factories import make_user
from tests.runs.storage.stores import files_in, use_store
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Problem, Rejection
from webagent.trajectory.records import ActionRecord, BlobRecord, Box, EndReason, Size, Target

pytestmark = pytest.mark.django_db


def rows() -> dict[str, int]:
    """How many rows each table of the two apps has."""
    models = [
        *apps.get_app_config("runs").get_models(),
        *apps.get_app_config("judging").get_models(),
    ]
    return {model._meta.label: model._default_manager.count() for model in models}


def with_run(bundle: RunBundle, **changes: Any) -> RunBundle:
    return replace(bundle, run=bundle.run.model_copy(update=changes))


def with_first_step(bundle: RunBundle, change: Callable[[Any], Any]) -> RunBundle:
    return replace(bundle, steps=(change(bundle.steps[0]), *bundle.steps[1:]))


def test_a_run_is_stored_with_all_that_belongs_to_it(store):
    user = make_user()
    bundle = run_bundle(1)
    imported = import_bundle(bundle, user=user)
    assert imported == ImportedRun(
        source="run-1",
        run_id=imported.run_id,
        id_in_file=bundle.run.id,
        is_new=True,
        n_steps=3,
        n_screenshots=3,
        n_labels=len(bundle.labels),
        n_evaluations=len(bundle.evaluations),
        n_gaps=len(bundle.run.gaps),
    )
    run: Any = Run.objects.get(pk=imported.run_id)
    assert (run.status, run.outcome, run.end_reason) == ("finished", "success", "task_ended")
    assert (run.reward, run.final_answer, run.seed) == (0.125, "24.90", 7)
    assert (run.goal, run.task.external_id) == ("Buy “it” 🙂", "shop.1")
    assert (run.agent.name, run.agent.model) == ("SECRET-AGENT", "SECRET-MODEL")
    assert run.experiment.name == "SECRET-EXPERIMENT"
    assert (run.n_steps, run.n_screenshots, run.has_anomaly) == (3, 3, True)
    assert (run.input_tokens, run.cost) == (9, Decimal("0.03"))
    assert (run.created_by, run.content_hash) == (user, bundle.content_hash)
    assert run.task.spec["reference_answers"] == {"exact_match": "SECRET-REF"}
    assert [event.kind for event in run.events.all()] == ["loop"]


def test_steps_have_what_a_timeline_draws(store):
    run = Run.objects.get(pk=import_bundle(run_bundle(1)).run_id)
    steps = list(run.steps.order_by("index"))
    assert [step.index for step in steps] == [0, 1, 2]
    first: Any = steps[0]
    assert (first.action, first.kind, first.thought) == ("click('1')", "click", "thought 0")
    assert (first.url, first.reward, first.point) == ("http://127.0.0.1/", 0.125, [1.5, 2.0])
    assert (first.input_tokens, first.cost) == (3, Decimal("0.10"))
    assert read_blob(first.tree_id) == b"tree 1 0"
    assert (first.screenshot.width, first.screenshot.thumbnail.width) == (40, 40)


def test_files_beside_the_timeline_are_attached(store):
    run_id = import_bundle(run_bundle(1)).run_id
    attached = Attachment.objects.filter(run=run_id)
    assert sorted(attached.values_list("role", flat=True)) == ["artefact", "screenshot"]
    assert set(attached.values_list("step_index", flat=True)) == {None}


def test_an_action_that_is_a_structure_reads_as_a_call():
    given = {"name": "computer", "input": {"action": "left_click", "coordinate": [2, 3]}}
    click = ActionRecord(
        raw=given,
        dialect="anthropic_computer",
        name="left_click",
        named_args={"coordinate": [2, 3]},
    )
    unread = ActionRecord(raw={"odd": "é"}, dialect="other")
    said = ActionRecord(raw="click [51]", dialect="webarena", name="click", args=("51",))
    assert action_text((click, unread, said)) == (
        'left_click(coordinate=[2, 3])\n{"odd": "é"}\nclick [51]'
    )


def test_points_are_in_pixels_of_the_picture(store):
    def larger_screen(step):
        (action,) = step.actions
        target = Target(role="button", text="Go", box=Box(x=1, y=2, width=3, height=4))
        space = Size(width=20, height=10)
        action = action.model_copy(update={"coordinate_space": space, "target": target})
        return step.model_copy(update={"actions": (action,)})

    run_id = import_bundle(with_first_step(run_bundle(1), larger_screen)).run_id
    step = Step.objects.get(run=run_id, index=0)
    assert step.point == [3.0, 4.0]
    assert step.box == [1.0, 2.0, 3.0, 4.0]
    assert step.target == 'button "Go"'


@pytest.mark.slow
def test_twice_is_as_good_as_once(store):
    first = import_bundle(run_bundle(1))
    before, files = rows(), files_in(store)
    again = import_bundle(run_bundle(1))
    assert (again.run_id, again.is_new) == (first.run_id, False)
    assert rows() == before
    assert files_in(store) == files


def test_the_same_content_under_another_name_is_already_there(store):
    first = import_bundle(run_bundle(1))
    renamed = with_run(run_bundle(1), id="other", trial=2, experiment="elsewhere")
    renamed = replace(
        renamed,
        steps=tuple(step.model_copy(update={"run_id": "other"}) for step in renamed.steps),
        evaluations=(),
        labels=(),
        adjudications=(),
    )
    assert import_bundle(renamed).run_id == first.run_id


def test_runs_of_one_task_and_agent_share_their_rows(store):
    for number in range(3):
        bundle = run_bundle(number)
        import_bundle(replace(bundle, task=run_bundle(0).task))
    assert (Task.objects.count(), AgentConfiguration.objects.count()) == (1, 1)
    assert Run.objects.count() == 3


def test_what_a_later_run_knows_of_a_task_is_filled_in(store):
    bundle = run_bundle(1)
    unknown = bundle.task.model_copy(update={"eval": None, "reference": None})
    import_bundle(replace(bundle, task=unknown, evaluations=(), labels=(), adjudications=()))
    assert Task.objects.get().spec is None
    later = replace(run_bundle(2), task=bundle.task)
    import_bundle(later)
    assert Task.objects.get().spec == bundle.task.eval


def test_an_own_id_is_kept(store):
    run_id = "6f0f1b0e-52c7-4b6f-9d3e-3d3b8f6f4a11"
    bundle = run_bundle(1)
    steps = tuple(step.model_copy(update={"run_id": run_id}) for step in bundle.steps)
    bundle = replace(with_run(bundle, id=run_id), steps=steps, evaluations=(), labels=())
    bundle = replace(bundle, adjudications=())
    assert str(import_bundle(bundle).run_id) == run_id
    other = replace(with_run(bundle, final_answer="another"), source="other")
    assert str(import_bundle(other).run_id) != run_id


def test_cancelled_runs_stay_cancelled(store):
    run_id = import_bundle(with_run(run_bundle(1), end_reason=EndReason.CANCELLED)).run_id
    assert Run.objects.get(pk=run_id).status == RunStatus.CANCELLED


def test_numbers_beyond_a_column_stay_in_the_record(store):
    bundle = with_run(run_bundle(1), max_steps=2**40, reward=float("inf"))
    run = Run.objects.get(pk=import_bundle(bundle).run_id)
    assert (run.max_steps, run.reward) == (None, None)
    assert run.record["max_steps"] == 2**40


def test_a_run_says_on_commit_that_it_is_there(store, django_capture_on_commit_callbacks):
    heard = []

    def listen(sender, run_ids, **_):
        heard.extend(run_ids)

    runs_ended.connect(listen)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            first = import_bundle(run_bundle(1))
            assert heard == []
        with django_capture_on_commit_callbacks(execute=True):
            import_bundle(run_bundle(1))
    finally:
        runs_ended.disconnect(listen)
    assert heard == [first.run_id]


@pytest.fixture
def told():
    """The runs that others were told of, as they were told together."""
    heard: list[list[Any]] = []

    def listen(sender, run_ids, **_):
        heard.append(list(run_ids))

    runs_ended.connect(listen)
    yield heard
    runs_ended.disconnect(listen)


@pytest.mark.slow
def test_of_runs_that_come_together_others_are_told_together(
    store, monkeypatch, told, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(import_session, "TOGETHER", 2)
    with django_capture_on_commit_callbacks(execute=True):
        found = list(import_runs(run_bundle(number) for number in range(3)))
        assert told == []
    first, second, third = [each.run_id for each in found if isinstance(each, ImportedRun)]
    assert told == [[first, second], [third]]


@pytest.mark.slow
def test_an_import_taken_up_tells_of_runs_that_the_dead_one_stored(
    store, monkeypatch, told, django_capture_on_commit_callbacks
):
    import_bundle(run_bundle(1))
    with django_capture_on_commit_callbacks(execute=True):
        found = list(import_runs(run_bundle(number) for number in (1, 2)))
    assert told == [[each.run_id for each in found if isinstance(each, ImportedRun)]]
    monkeypatch.setattr(import_session, "UNTOLD_FOR", timedelta(0))
    with django_capture_on_commit_callbacks(execute=True):
        _, _, third = import_runs(run_bundle(number) for number in (1, 2, 3))
    assert isinstance(third, ImportedRun)
    assert told[1:] == [[third.run_id]]


def test_a_run_on_which_a_listener_breaks_does_not_take_others_with_it():
    heard: list[UUID] = []
    first, broken, third = (uuid4() for _ in range(3))

    def listen(sender, run_ids, **_):
        if broken in run_ids:
            raise ValueError("no")
        heard.extend(run_ids)

    runs_ended.connect(listen)
    try:
        announce_ends(Task, [first, broken, third])
    finally:
        runs_ended.disconnect(listen)
    assert heard == [first, third]


def test_a_listener_that_fails_does_not_undo_the_run(store, django_capture_on_commit_callbacks):
    def fail(sender, run_ids, **_):
        raise ValueError("no")

    runs_ended.connect(fail)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            run_id = import_bundle(run_bundle(1)).run_id
    finally:
        runs_ended.disconnect(fail)
    assert Run.objects.filter(pk=run_id).exists()


@pytest.mark.slow
def test_a_disk_that_fills_up_at_any_write_leaves_nothing(settings, tmp_path):
    use_store(settings, tmp_path / "large enough")
    before = rows()
    with transaction.atomic():
        import_bundle(run_bundle(1))
        n_writes = Blob.objects.count()
        transaction.set_rollback(True)
    assert n_writes > 8
    for k in range(1, n_writes + 1):
        store = use_store(settings, tmp_path / str(k), fails_at=k)
        with pytest.raises(StoringError, match="the disk is full"):
            import_bundle(run_bundle(1))
        assert rows() == before
        # Two writers may meet over one file, so there may be fewer files than writes.
        assert len(files_in(store)) < k
    use_store(settings, tmp_path / "made room")
    assert import_bundle(run_bundle(1)).is_new


@pytest.mark.parametrize("model", [Run, Step, Attachment, Event, Blob, Task, AgentConfiguration])
@pytest.mark.slow
def test_a_database_that_fails_at_any_table_leaves_nothing(store, model):
    before = rows()
    insertion = re.compile(rf'INSERT (OR IGNORE )?INTO "{model._meta.db_table}" ')

    def fail(execute, sql, params, many, context):
        if insertion.match(sql):
            raise DatabaseError("database or disk is full")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail), pytest.raises(StoringError, match="the disk is full"):
        import_bundle(run_bundle(1))
    assert rows() == before
    assert import_bundle(run_bundle(1)).is_new


def test_a_blob_that_cannot_be_read_rejects_the_run(store):
    bundle = run_bundle(1)
    unreadable = BlobRecord(sha256="0" * 64, media_type="text/plain", bytes=1, role="log")
    (rejected,) = import_runs([with_run(bundle, logs=(unreadable,))])
    assert isinstance(rejected, Rejection)
    assert (rejected.source, rejected.field) == ("run-1", "blobs")
    assert not Run.objects.exists()


def test_one_bad_run_does_not_keep_the_others_out(store):
    bad = BlobRecord(sha256="0" * 64, media_type="text/plain", bytes=1, role="log")
    said = Problem("x", "y", "z", "as it came")
    found: list[RunBundle | Problem] = [
        run_bundle(1),
        said,
        with_run(run_bundle(2), logs=(bad,)),
        run_bundle(3),
    ]
    kinds = [type(item) for item in import_runs(found)]
    assert kinds == [ImportedRun, Problem, Rejection, ImportedRun]


def test_of_two_imports_at_once_the_second_finds_the_first(store, monkeypatch):
    """As if the other had committed between the look and the insert."""
    first = import_bundle(run_bundle(1))
    before = rows()
    looks = []
    look = stored_run

    def blind_at_first(*args):
        looks.append(args)
        return None if len(looks) == 1 else look(*args)

    monkeypatch.setattr(storing, "stored_run", blind_at_first)
    again = import_bundle(run_bundle(1))
    assert (again.run_id, again.is_new, len(looks)) == (first.run_id, False, 2)
    assert rows() == before


def test_a_refusal_that_stays_is_told(store, monkeypatch):
    def refuse(*_):
        raise IntegrityError("never")

    monkeypatch.setattr(storing, "stored_run", refuse)
    with pytest.raises(StoringError, match="refused"):
        import_bundle(run_bundle(1))


@pytest.mark.django_db(transaction=True)
def test_many_imports_of_the_same_runs_at_once(store):
    if connection.vendor == "sqlite":
        pytest.skip("threads cannot share a database in memory")
    found: list[ImportedRun | Exception] = []

    def work():
        try:
            for number in (1, 2):
                found.append(import_bundle(run_bundle(number)))
        except Exception as error:  # noqa: BLE001
            found.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [item for item in found if isinstance(item, Exception)] == []
    assert sum(item.is_new for item in found if isinstance(item, ImportedRun)) == 2
    assert Run.objects.count() == 2


class TestLinks:
    def chain(self) -> tuple[RunBundle, RunBundle, RunBundle]:
        """A run, its retry, and a rerun of the first, told in every order."""
        first = with_run(run_bundle(1), superseded_by="run-2")
        retry = with_run(run_bundle(2), retry_of="run-1", attempt=2)
        rerun = with_run(run_bundle(3), rerun_of="run-1")
        return first, retry, rerun

    @pytest.mark.slow
    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
    def test_links_are_restored_whatever_comes_first(self, store, order):
        together, chain = ImportSession(), self.chain()
        ids = {place: import_bundle(chain[place], session=together).run_id for place in order}
        first, retry, rerun = (Run.objects.get(pk=ids[place]) for place in range(3))
        assert (first.superseded, retry.superseded) == (True, False)
        assert retry.retry_of == first
        assert rerun.rerun_of == first
        assert (first.root, retry.root, rerun.root) == (first.pk,) * 3

    @pytest.mark.parametrize("order", list(permutations(range(3))))
    @pytest.mark.slow
    def test_a_rerun_of_a_rerun_is_of_the_first_ones_family(self, store, order):
        chain = [
            run_bundle(1),
            with_run(run_bundle(2), rerun_of="run-1"),
            with_run(run_bundle(3), rerun_of="run-2"),
        ]
        together = ImportSession()
        ids = {place: import_bundle(chain[place], session=together).run_id for place in order}
        assert [Run.objects.get(pk=ids[place]).root for place in range(3)] == [ids[0]] * 3

    def test_runs_that_repeat_each_other_in_a_circle_are_one_family(self, store):
        together = ImportSession()
        circle = [
            with_run(run_bundle(1), rerun_of="run-2"),
            with_run(run_bundle(2), rerun_of="run-1"),
        ]
        ids = [import_bundle(each, session=together).run_id for each in circle]
        one, other = (Run.objects.get(pk=each) for each in ids)
        assert (one.rerun_of, other.rerun_of, one.root) == (other, one, other.root)

    def test_what_replaced_a_run_is_its_retry(self, store):
        together = ImportSession()
        old = import_bundle(with_run(run_bundle(1), superseded_by="run-2"), session=together)
        new = import_bundle(run_bundle(2), session=together)
        assert Run.objects.get(pk=new.run_id).retry_of_id == old.run_id

    def test_a_run_is_never_its_own_retry(self, store):
        run_id = import_bundle(with_run(run_bundle(1), retry_of="run-1", rerun_of="run-1")).run_id
        run = Run.objects.get(pk=run_id)
        assert (run.retry_of, run.rerun_of) == (None, None)

    @pytest.mark.slow
    def test_two_retries_of_one_run_are_both_kept(self, store):
        together = ImportSession()
        bundles = [
            run_bundle(1),
            with_run(run_bundle(2), retry_of="run-1"),
            with_run(run_bundle(3), retry_of="run-1"),
        ]
        ids = [import_bundle(bundle, session=together).run_id for bundle in bundles]
        assert Run.objects.get(pk=ids[1]).retry_of_id == ids[0]
        last = Run.objects.get(pk=ids[2])
        assert (last.retry_of_id, last.root) == (None, ids[0])

    def test_a_link_to_a_run_that_is_here_holds_across_files(self, store):
        first = import_bundle(run_bundle(1))
        later = import_bundle(with_run(run_bundle(2), rerun_of=str(first.run_id)))
        assert Run.objects.get(pk=later.run_id).rerun_of_id == first.run_id

    def test_a_link_to_nowhere_stays_in_the_record(self, store):
        run = Run.objects.get(pk=import_bundle(with_run(run_bundle(1), rerun_of="gone")).run_id)
        assert (run.rerun_of, run.record["rerun_of"]) == (None, "gone")
