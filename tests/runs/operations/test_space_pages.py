"""Pages on disk use, quotas, and what is archived; and the settings of where files lie."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pydantic import ValidationError

from runs.models import Blob, Experiment, Run, RunSpace, SpaceMeasurement
from runs.operations.blob_checks import BlobReport, delete_orphans, find_orphans
from runs.operations.space.measuring import MEASURE, is_due, measure_anew, measure_space
from runs.operations.space.retention_views import preview
from tests.judging.factories import make_study
from tests.runs.factories import make_experiment, make_picture, make_run, make_user
from tests.runs.storage.stores import use_store
from webagent.settings.environment import Environment
from webagent.settings.files import picture_sources, storages

pytestmark = [pytest.mark.sqlite_only("tests what pages show"), pytest.mark.slow]

OLD = timedelta(days=31)


@pytest.fixture
def store(settings, tmp_path, db):
    settings.ENV = settings.ENV.model_copy(update={"ORPHAN_GRACE_S": 0})
    return use_store(settings, tmp_path / "blobs")


@pytest.fixture
def engineer(client: Client, store: Path) -> Client:
    client.force_login(make_user())
    return client


@pytest.fixture
def experiment(store) -> Experiment:
    """Two runs that could go and one that is judged; the first two share a picture."""
    made = make_experiment("Garden")
    shared = make_picture("shared")
    for _ in range(2):
        make_run(steps=[{"screenshot": shared}, {}], experiment=made)
    make_study(runs=[make_run(steps=1, experiment=made)])
    # The factory drew pictures that other ones took the place of.
    for _pictures_then_thumbnails in range(2):
        report = BlobReport()
        find_orphans(report)
        delete_orphans(report, grace=timedelta())
    return made


def address(name: str, experiment: Experiment) -> str:
    return reverse(f"runs:{name}", args=[experiment.pk])


class TestMeasuring:
    def test_the_page_says_what_was_measured(self, engineer, experiment, client, monkeypatch):
        asked: list[str] = []
        monkeypatch.setattr("runs.operations.space.measuring.ask_for", asked.append)
        for _looks_again_till_it_is_measured in range(2):
            page = client.get("/storage/").content.decode()
            assert "Storage is being measured" in page
            assert 'hx-trigger="every 2s"' in page
        assert asked == [MEASURE]
        measured = measure_space()
        page = client.get("/storage/").content.decode()
        assert "Garden" in page
        assert "every 2s" not in page
        assert "Free on the disk" in page
        blobs = Blob.objects.all()
        assert (measured.n_files, measured.stored) == (
            len(blobs),
            sum(blob.stored_size or 0 for blob in blobs),
        )
        referred = sum(RunSpace.objects.values_list("total", flat=True))
        assert measured.figures["by_kind"]["total"] == referred
        assert referred > measured.stored

    def test_of_nothing_there_is_no_share(self, engineer, client):
        measure_space()
        page = client.get("/storage/").content.decode()
        assert "Unreferenced files" in page
        assert "that runs refer to" not in page
        assert 'id="by-kind"' not in page

    def test_what_was_measured_wrongly_is_mended(self, experiment):
        measure_space()
        RunSpace.objects.update(total=1)
        wrong = measure_space().figures["by_kind"]["total"]
        assert measure_anew().figures["by_kind"]["total"] > wrong == 3

    def test_it_is_measured_now_and_then_by_one(self, store):
        assert is_due()
        assert not is_due()
        SpaceMeasurement.objects.update(measured_at=timezone.now() - timedelta(hours=1))
        assert [is_due(), is_due()] == [True, False]

    def test_hidden_experiments_have_no_name(self, experiment, client):
        judge = make_user("engineer")
        runs = Run.objects.filter(experiment=experiment)
        make_study(runs=list(runs), annotators=[judge, make_user("annotator")])
        measure_space()
        client.force_login(judge)
        page = client.get("/storage/").content.decode()
        assert "Garden" not in page
        assert "other runs" in page
        assert client.get(address("retention", experiment)).status_code == 404

    def test_the_command(self, experiment, capsys):
        call_command("measure_space", "--anew")
        assert "3 runs measured" in capsys.readouterr().out


class TestRetention:
    def test_the_preview_says_what_goes_and_what_is_kept(self, engineer, experiment):
        found = preview(experiment, timezone.now())["here"]
        assert (found["runs"], found["steps"]) == (2, 4)
        spaces = RunSpace.objects.filter(run__study_items=None)
        assert found["size"] == sum(space.total for space in spaces)
        own = Blob.objects.exclude(pk__in=_of_judged(experiment))
        assert found["freed"] == sum(blob.stored_size or 0 for blob in own)
        page = engineer.get(address("retention", experiment)).content.decode()
        assert "part of a study" in page
        assert "Archive" in page

    def test_away_and_back_and_for_good(self, engineer, experiment, store):
        def at(page: str, **data: str) -> Any:
            return engineer.post(address(page, experiment), data, follow=True)

        assert "2 runs were archived" in at("retention_archive").content.decode()
        assert "2 runs were restored" in at("retention_restore").content.decode()
        at("retention_archive")
        sure = {"reason": "no longer needed", "name": "Garden"}
        assert "0 runs were deleted" in at("retention_delete", **sure).content.decode()
        Run.objects.exclude(archived_at=None).update(archived_at=timezone.now() - OLD)
        wrong = engineer.post(address("retention_delete", experiment), sure | {"name": "Orchard"})
        assert wrong.status_code == 422
        assert "The name does not match" in wrong.content.decode()
        assert "2 runs were deleted" in at("retention_delete", **sure).content.decode()
        assert experiment.runs.count() == 1
        assert set(Blob.objects.values_list("pk", flat=True)) == _of_judged(experiment)

    def test_limits(self, engineer, experiment):
        url = address("retention_limits", experiment)
        engineer.post(url, {"max_runs": "5", "max_gb": "1.5", "keep_days": ""})
        experiment.refresh_from_db()
        assert (experiment.max_runs, experiment.max_bytes, experiment.keep_days) == (
            5,
            1_500_000_000,
            None,
        )
        assert 'value="1.5"' in engineer.get(address("retention", experiment)).content.decode()
        assert engineer.post(url, {"max_runs": "-1"}).status_code == 422


def _of_judged(experiment: Experiment) -> set[str]:
    """Files of the run that stays, thumbnail included."""
    step: Any = experiment.runs.exclude(study_items=None).get().steps.get()
    return {step.screenshot_id, step.screenshot.thumbnail_id, step.tree_id}


class TestSettings:
    def test_a_bucket_with_a_prefix(self, tmp_path):
        env = Environment(
            BLOB_STORAGE="s3://lab-files/crosscheck", S3_ENDPOINT_URL="http://minio:9000/"
        )
        options = storages(env, tmp_path)["default"]["OPTIONS"]
        assert (options["bucket"], options["prefix"]) == ("lab-files", "crosscheck/blobs")
        assert options["endpoint_url"] == "http://minio:9000"
        assert picture_sources(env) == []

    @pytest.mark.parametrize(
        ("given", "hosts"),
        [
            ({"S3_ENDPOINT_URL": "http://minio:9000"}, ["http://minio:9000"]),
            (
                {"S3_ENDPOINT_URL": "http://minio:9000", "S3_PUBLIC_URL": "https://files.lab.org"},
                ["https://files.lab.org"],
            ),
            ({"S3_REGION": "eu-west-1"}, ["https://lab.s3.eu-west-1.amazonaws.com"]),
        ],
    )
    def test_pictures_may_come_from_the_bucket_alone(self, given, hosts):
        env = Environment(BLOB_STORAGE="s3://lab", BLOB_SERVING="presigned", **given)
        assert picture_sources(env)[:1] == hosts

    @pytest.mark.parametrize(
        "given",
        [
            {"BLOB_STORAGE": "/srv/blobs"},
            {"BLOB_STORAGE": "s3://UPPER"},
            {"BLOB_STORAGE": "s3://lab/../other"},
            {"S3_ENDPOINT_URL": "ftp://minio"},
            {"S3_ENDPOINT_URL": "http://user:secret@minio"},
            {"S3_PUBLIC_URL": "https://lab.org/path"},
            {"BLOB_SERVING": "public"},
        ],
    )
    def test_what_is_wrong_stops_the_start(self, given):
        with pytest.raises(ValidationError):
            Environment(**given)
