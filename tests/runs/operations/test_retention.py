"""Runs are archived, restored and deleted with the files that nobody else has."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from judging.models import FailureReview
from runs.imports import storing
from runs.imports.storing import import_bundle, import_runs
from runs.models import (
    AuditEntry,
    Blob,
    DeletedRun,
    Experiment,
    PendingDeletion,
    Run,
    RunStatus,
    Step,
)
from runs.operations import blob_checks
from runs.operations.blob_checks import BlobReport, check_files, check_references
from runs.operations.space import retention
from runs.operations.space.retention import (
    apply_retention,
    archive_runs,
    delete_archived,
    delete_pending,
    kept_by,
    restore_runs,
    set_limits,
)
from runs.storage.usage import QuotaError, bytes_of, demand_room, measure_runs, spaces_of
from tests.judging.factories import make_study
from tests.runs.factories import make_experiment, make_picture, make_run, make_text, make_user
from tests.runs.storage.stores import files_in, use_store
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.intake import Rejection

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.ENV = settings.ENV.model_copy(update={"ORPHAN_GRACE_S": 0})
    return use_store(settings, tmp_path / "blobs")


def all_runs(**fields: Any) -> Any:
    return Run.objects.filter(**fields)


def archive(*runs: Run, days: int = 31) -> None:
    archived_at = timezone.now() - timedelta(days=days)
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(archived_at=archived_at)


def gone(*runs: Run) -> list[bool]:
    return [not Run.objects.filter(pk=run.pk).exists() for run in runs]


def damage() -> list[Any]:
    report = BlobReport()
    for _checked in check_files(report):
        pass
    check_references(report)
    return report.damaged


class TestPuttingAway:
    def test_it_leaves_the_list_and_keeps_its_address(self, client):
        run, other = make_run(goal="of the past"), make_run(goal="still here")
        client.force_login(make_user())
        assert archive_runs(runs=all_runs(pk=run.pk), why="a test") == 1
        page = client.get("/runs/").content.decode()
        assert "still here" in page
        assert "of the past" not in page
        assert "?archived=true" in page
        assert "of the past" in client.get("/runs/?archived=true").content.decode()
        assert client.get(f"/runs/{run.pk}/").status_code == 200
        assert restore_runs(runs=all_runs(pk=run.pk), why="a test") == 1
        assert "of the past" in client.get("/runs/").content.decode()
        assert other

    def test_what_is_judged_repeated_or_learnt_from_stays(self):
        experiment = make_experiment()
        plain, judged, repeated, running = (
            make_run(experiment=experiment),
            make_run(experiment=experiment),
            make_run(experiment=experiment),
            make_run(experiment=experiment, status=RunStatus.RUNNING),
        )
        make_study(runs=[judged])
        make_run(rerun_of=repeated)
        runs = all_runs(experiment=experiment)
        assert [n for _words, n in kept_by(runs)] == [1, 1, 1]
        assert archive_runs(runs=runs, why="a test") == 1
        assert list(runs.exclude(archived_at=None)) == [plain]
        assert running

    def test_a_trial_goes_with_all_its_attempts(self):
        first = make_run(superseded=True, status=RunStatus.FAILED)
        second = make_run(retry_of=first, attempt=2)
        assert archive_runs(runs=all_runs(pk__in=[first.pk, second.pk]), why="a test") == 2

    def test_so_many_at_a_time(self, monkeypatch):
        monkeypatch.setattr(retention, "AT_ONCE", 2)
        for _ in range(5):
            make_run(steps=0)
        assert archive_runs(runs=all_runs(), why="a test") == 5
        assert restore_runs(runs=all_runs(), why="a test") == 5
        acts = AuditEntry.objects.filter(kind="experiment.archived").order_by("pk")
        told = [act.before or act.after for act in acts]
        assert told == ["2 runs", "2 runs", "1 runs"] * 2

    def test_it_is_written_down(self):
        run = make_run()
        archive_runs(runs=all_runs(pk=run.pk), why="no longer needed")
        archive(run)
        delete_archived(runs=all_runs(), reason="no longer needed")
        assert [act.kind for act in AuditEntry.objects.all()] == [
            "run.deleted",
            "experiment.archived",
        ]
        row = DeletedRun.objects.get()
        assert (row.run_id, row.n_steps, row.reason) == (run.pk, 3, "no longer needed")

    def test_what_went_is_written_down_though_the_deleting_broke_off(self, monkeypatch):
        archive(make_run(steps=0), make_run(steps=0))
        delete_whole, calls = retention._delete_whole, []

        def killed(*args):
            calls.append(args)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return delete_whole(*args)

        monkeypatch.setattr(retention, "RUNS_AT_ONCE", 1)
        monkeypatch.setattr(retention, "_delete_whole", killed)
        with pytest.raises(KeyboardInterrupt):
            delete_archived(runs=all_runs(), reason="a test")
        went = DeletedRun.objects.get()
        assert AuditEntry.objects.get(kind="run.deleted").before == f"1 runs: {went.run_id}"


class TestDeleting:
    def test_only_what_was_put_away_for_the_grace_period(self):
        old, fresh, here = make_run(), make_run(), make_run()
        archive(old)
        archive(fresh, days=29)
        assert delete_archived(runs=all_runs(), reason="a test") == [old.pk]
        assert gone(old, fresh, here) == [True, False, False]

    def test_files_of_nobody_else_go_and_shared_ones_stay(self, store):
        shared, own = make_picture("shared"), make_picture("own")
        tree = make_text("a tree " * 50)
        first = make_run(steps=[{"screenshot": shared, "tree": tree}, {"screenshot": own}])
        first.attachments.create(role="log", blob=make_text("a log"))
        second = make_run(steps=[{"screenshot": shared, "tree": make_text("another")}])
        archive(first)
        delete_archived(runs=all_runs(), reason="a test")
        left = set(Blob.objects.values_list("pk", flat=True))
        assert shared.pk in left
        assert shared.thumbnail_id in left
        assert left.isdisjoint({own.pk, own.thumbnail_id, tree.pk})
        assert len(files_in(store)) == len(left)
        assert damage() == []
        assert not PendingDeletion.objects.exists()
        assert second

    def test_young_files_wait_for_the_grace_period(self, settings, store):
        settings.ENV = settings.ENV.model_copy(update={"ORPHAN_GRACE_S": 3600})
        run = make_run(steps=1)
        archive(run)
        delete_archived(runs=all_runs(), reason="a test")
        assert (Blob.objects.count(), PendingDeletion.objects.count()) == (3, 2)
        Blob.objects.update(created_at=timezone.now() - timedelta(hours=2))
        delete_pending()
        # The files were written just now, as by somebody who stores the same again.
        assert (Blob.objects.count(), len(files_in(store))) == (0, 3)

    def test_a_run_that_came_to_be_judged_meanwhile_stays(self):
        run = make_run()
        archive(run)
        make_study(runs=[run])
        assert delete_archived(runs=all_runs(), reason="a test") == []
        assert gone(run) == [False]

    def test_one_whose_failure_people_described_meanwhile_stays_with_their_words(self, monkeypatch):
        run, other = make_run(steps=0), make_run(steps=0)
        archive(run, other)
        delete_whole = retention._delete_whole

        def described_just_before(*args):
            FailureReview.objects.create(run=run, decision="own", by=make_user())
            return delete_whole(*args)

        monkeypatch.setattr(retention, "_delete_whole", described_just_before)
        assert delete_archived(runs=all_runs(), reason="a test") == [other.pk]
        assert FailureReview.objects.get().run == run

    def test_whoever_is_killed_between_a_picture_and_its_thumbnail_forgets_neither(
        self, store, monkeypatch
    ):
        run, delete_unused = make_run(steps=1), blob_checks.delete_unused
        picture: Any = run.steps.get().screenshot
        both = Blob.objects.filter(pk__in=[picture.pk, picture.thumbnail_id])
        archive(run)

        def killed(hashes, *, before):
            delete_unused(hashes, before=before)
            raise KeyboardInterrupt

        monkeypatch.setattr(retention, "delete_unused", killed)
        with pytest.raises(KeyboardInterrupt):
            delete_archived(runs=all_runs(), reason="a test")
        assert [blob.pk for blob in both] == [picture.thumbnail_id]
        monkeypatch.undo()
        delete_pending()
        assert not both.all().exists()
        assert len(files_in(store)) == Blob.objects.count()

    def test_a_picture_that_is_another_ones_thumbnail_goes_with_it(self):
        picture = make_picture("large", (640, 400))
        seen: list[dict[str, Any]] = [{"screenshot": picture}, {"screenshot": picture.thumbnail}]
        archive(make_run(steps=seen))
        delete_archived(runs=all_runs(), reason="a test")
        assert not Blob.objects.filter(pk__in=[picture.pk, picture.thumbnail_id]).exists()

    def test_so_many_that_one_can_wait_for_it(self, store):
        judged = make_run(steps=1)
        archive(judged, make_run(steps=1), make_run(steps=1))
        make_study(runs=[judged])
        assert len(delete_archived(runs=all_runs(), reason="a test", at_most=1)) == 1
        assert len(delete_archived(runs=all_runs(), reason="a test", at_most=1)) == 1
        assert list(all_runs()) == [judged]

    def test_the_database_refuses_every_other_way(self):
        run = make_run(steps=2)
        archive(run)
        for rows in (Run.objects.filter(pk=run.pk), Step.objects.filter(run=run)):
            with pytest.raises(DatabaseError, match="deleted"), transaction.atomic():
                rows.delete()
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(reward=0.5)

    def test_one_that_was_deleted_and_came_again_is_guarded_again(self):
        run = make_run()
        archive(run)
        delete_archived(runs=all_runs(), reason="a test")
        again = make_run(id=run.pk)
        with pytest.raises(DatabaseError, match="deleted"), transaction.atomic():
            again.delete()
        archive(again)
        assert delete_archived(runs=all_runs(), reason="a test") == [run.pk]

    def test_commands(self, capsys):
        run, judged = make_run(), make_run()
        make_study(runs=[judged])
        ids = [str(run.pk), str(judged.pk)]
        call_command("delete_runs", "--runs", *ids, "--reason", "a test", "--dry-run")
        assert "1 run would be deleted" in capsys.readouterr().out
        assert gone(run, judged) == [False, False]
        call_command("delete_runs", "--runs", *ids, "--reason", "a test", "--without-grace")
        assert "Deleted: 1 run" in capsys.readouterr().out
        assert gone(run, judged) == [True, False]


@pytest.mark.django_db(transaction=True)
def test_an_import_that_needs_what_is_being_deleted_stores_it_again(monkeypatch, settings):
    """It found the files there, and they went before its rows came."""
    first = import_bundle(_plain(1)).run_id
    write_blobs = storing._write_blobs
    moments: list[int] = []

    def deleted_just_after(*args):
        written = write_blobs(*args)
        if not moments:
            moments.append(Blob.objects.count())
            archive(Run.objects.get(pk=first))
            delete_archived(runs=all_runs(), reason="a test")
            assert Blob.objects.count() == 0
        return written

    monkeypatch.setattr(storing, "_write_blobs", deleted_just_after)
    assert import_bundle(_other(_plain(1))).is_new
    assert moments
    assert damage() == []
    assert Blob.objects.count() == moments[0]


def _plain(number: int) -> Any:
    """A run without judgements, which would keep it."""
    return replace(run_bundle(number), labels=(), evaluations=(), adjudications=(), hints=())


def _other(bundle: Any) -> Any:
    """Another run of the same files."""
    return replace(bundle, run=bundle.run.model_copy(update={"id": "another", "seed": 99}))


class TestRules:
    def test_runs_past_their_time_are_put_away_and_then_deleted(self, capsys):
        experiment = make_experiment()
        long_ago = timezone.now() - timedelta(days=8)
        old = make_run(experiment=experiment, ended_at=long_ago)
        new = make_run(experiment=experiment, ended_at=timezone.now())
        other = make_run(ended_at=long_ago)
        judged = make_run(experiment=experiment, ended_at=long_ago)
        make_study(runs=[judged])
        set_limits(experiment=experiment, max_runs=None, max_bytes=None, keep_days=7)
        call_command("apply_retention", "--dry-run")
        told = [
            "To be archived: 1 runs, and those that only they repeat.",
            "To be deleted: 0 runs.",
        ]
        why = "part of a study, with its labels and verdicts"
        assert capsys.readouterr().out.splitlines() == [*told, f"Kept: 1 ({why})."]
        assert apply_retention().archived == 1
        assert list(Run.objects.exclude(archived_at=None)) == [old]
        archive(old)
        assert apply_retention().deleted == 1
        assert gone(old, new, other) == [True, False, False]
        assert AuditEntry.objects.filter(kind="retention.changed", after="7 days").exists()


class TestQuotas:
    def test_so_many_runs(self):
        experiment = Experiment.objects.create(name="small", max_runs=2)
        found = list(import_runs([_plain(n) for n in (1, 2, 3)], experiment_name="small"))
        refused = found[-1]
        assert isinstance(refused, Rejection)
        assert refused.reason == "The experiment small holds 2 runs and may hold 2."
        assert experiment.runs.count() == 2
        # What is there already is there, and not refused.
        (again,) = import_runs([_plain(1)], experiment_name="small")
        assert not isinstance(again, Rejection)

    def test_so_many_bytes_and_nothing_is_written_beyond(self, store):
        Experiment.objects.create(name="small", max_bytes=10)
        (refused,) = import_runs([_plain(1)], experiment_name="small")
        assert isinstance(refused, Rejection)
        assert "may take 10" in refused.reason
        assert files_in(store) == []
        assert not Blob.objects.exists()

    def test_none_costs_nothing(self, django_assert_num_queries):
        experiment = make_experiment()
        with django_assert_num_queries(0):
            demand_room(experiment, n_runs=10**6, n_bytes=10**12)
            demand_room(None, n_runs=1)

    def test_a_full_experiment_takes_no_rerun(self):
        experiment = Experiment.objects.create(name="full", max_bytes=1)
        make_run(experiment=experiment)
        with pytest.raises(QuotaError, match="may take 1"):
            demand_room(experiment, n_runs=1)


@pytest.mark.django_db(transaction=True)
def test_imports_at_the_same_moment_cannot_get_past_a_quota():
    if connection.vendor == "sqlite":
        pytest.skip("threads cannot share a database in memory")
    Experiment.objects.create(name="small", max_runs=2)
    bundles = [_plain(number) for number in range(1, 5)]
    start = threading.Barrier(len(bundles))
    refused: list[Rejection] = []

    def store(bundle: Any) -> None:
        start.wait()
        try:
            found = list(import_runs([bundle], experiment_name="small"))
            refused.extend(item for item in found if isinstance(item, Rejection))
        finally:
            connection.close()

    threads = [threading.Thread(target=store, args=[bundle]) for bundle in bundles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (Run.objects.count(), len(refused)) == (2, 2)


class TestSpace:
    def test_every_file_counts_once_under_its_kind(self):
        picture: Any = make_picture("page", (640, 400))
        run = make_run(steps=[{"screenshot": picture}, {"screenshot": picture}])
        log, source = make_text("log " * 99), make_text("source " * 99)
        run.attachments.create(role="log", blob=log)
        run.attachments.create(role="source", blob=source)
        (space,) = spaces_of([run.pk])
        trees = Blob.objects.filter(pk__in=run.steps.values("tree"))
        assert space.screenshots == picture.stored_size
        assert space.thumbnails == picture.thumbnail.stored_size
        assert space.trees == sum(blob.stored_size or 0 for blob in trees)
        assert (space.evidence, space.sources) == (log.stored_size, source.stored_size)
        assert space.n_files == 4 + len(trees)
        kinds = (space.screenshots, space.thumbnails, space.trees, space.evidence, space.sources)
        assert space.total == sum(kinds)

    def test_it_is_measured_once_and_shared_files_count_for_each(self):
        picture = make_picture("shared")
        runs = [make_run(steps=[{"screenshot": picture, "tree": None}]) for _ in range(3)]
        each = bytes_of(all_runs(pk=runs[0].pk))
        assert bytes_of(all_runs()) == 3 * each
        assert measure_runs(all_runs()) == 0

    def test_queries_do_not_grow_with_the_runs(self, django_assert_num_queries):
        ids = [make_run().pk for _ in range(6)]
        for some in (ids[:1], ids):
            with django_assert_num_queries(3):
                spaces_of(some)
