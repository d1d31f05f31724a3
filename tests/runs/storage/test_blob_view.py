"""Files of a run: to whom, as what, and with which protection."""

import pytest
from django.core.files.storage import default_storage
from django.test import Client

from runs.models import Attachment, Blob, Run
from runs.storage.blobs import storage_name
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_picture, make_run, make_text, make_user
from tests.runs.storage.stores import store_blob

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


@pytest.fixture
def run() -> Run:
    return make_run(steps=2)


@pytest.fixture
def client_of_engineer() -> Client:
    return client_of(make_user("engineer"))


def url(run: Run, blob: Blob | str | None) -> str:
    assert blob
    return f"/runs/{run.pk}/blobs/{blob if isinstance(blob, str) else blob.pk}/"


def attach(run: Run, blob: Blob, role: str = "log") -> Blob:
    Attachment.objects.create(run=run, role=role, blob=blob)
    return blob


def picture_of(run: Run, index: int = 0) -> Blob:
    picture = run.steps.get(index=index).screenshot
    assert picture
    return picture


def content(response) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_a_picture_is_a_picture(client_of_engineer, run):
    response = client_of_engineer.get(url(run, picture_of(run)))
    assert response.status_code == 200
    assert response["Content-Type"] == "image/png"
    assert content(response).startswith(b"\x89PNG")
    assert response["Cache-Control"] == "private, max-age=31536000, immutable"
    assert response["ETag"] == f'"{picture_of(run).pk}"'


def test_its_thumbnail_too(client_of_engineer, run):
    thumbnail = picture_of(run).thumbnail
    assert thumbnail
    assert client_of_engineer.get(url(run, thumbnail))["Content-Type"] == "image/webp"


def test_a_tree_is_plain_text(client_of_engineer, run):
    tree = run.steps.get(index=1).tree
    assert tree
    response = client_of_engineer.get(url(run, tree))
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().startswith("RootWebArea 'page 1'")


def test_unchanged_sends_nothing(client_of_engineer, run):
    blob = picture_of(run)
    response = client_of_engineer.get(
        url(run, blob), headers={"If-None-Match": f'"other", "{blob.pk}"'}
    )
    assert response.status_code == 304
    assert response.content == b""
    assert response["ETag"] == f'"{blob.pk}"'


def test_unchanged_is_said_to_nobody_who_may_not_see_it(run):
    blob = picture_of(run)
    stranger = client_of(make_user("annotator"))
    response = stranger.get(url(run, blob), headers={"If-None-Match": f'"{blob.pk}"'})
    assert response.status_code == 404


@pytest.mark.parametrize(
    ("media_type", "served_as", "is_download"),
    [
        ("text/html", "text/plain; charset=utf-8", False),
        ("application/json", "text/plain; charset=utf-8", False),
        ("image/svg+xml", "application/octet-stream", True),
        ("application/xhtml+xml", "application/octet-stream", True),
        ("application/pdf", "application/octet-stream", True),
        ("video/webm", "application/octet-stream", True),
    ],
)
def test_markup_is_never_laid_out(client_of_engineer, run, media_type, served_as, is_download):
    blob = attach(run, store_blob(b"<svg onload=alert(1)></svg>", media_type))
    # Not even where the row says of these bytes what the store would not have believed.
    Blob.objects.filter(pk=blob.pk).update(media_type=media_type)
    response = client_of_engineer.get(url(run, blob))
    assert content(response) == b"<svg onload=alert(1)></svg>"
    response.close()
    assert response["Content-Type"] == served_as
    assert response.get("Content-Disposition", "").startswith("attachment") is is_download
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"].startswith("sandbox")


def test_a_blob_of_another_run_is_not_found(client_of_engineer, run):
    other = make_run(steps=1)
    assert client_of_engineer.get(url(run, picture_of(other))).status_code == 404
    assert client_of_engineer.get(url(run, make_picture("nowhere"))).status_code == 404


@pytest.mark.parametrize("sha256", ["0" * 64, "x", "..", "a" * 500])
def test_no_such_blob(client_of_engineer, run, sha256):
    assert client_of_engineer.get(url(run, sha256)).status_code == 404


def test_a_lost_file_is_not_found(client_of_engineer, run):
    blob = picture_of(run)
    default_storage.delete(storage_name(blob))
    assert client_of_engineer.get(url(run, blob)).status_code == 404


class TestBlinding:
    @pytest.fixture
    def client_of_judge(self, run) -> Client:
        judge = make_user("engineer")
        make_study(runs=[run], annotators=[judge, make_user("annotator")])
        return client_of(judge)

    def test_what_the_agent_saw_shows(self, client_of_judge, run):
        step = run.steps.get(index=0)
        goal = attach(run, make_picture("goal"), "goal_image")
        for blob in (step.screenshot, step.screenshot.thumbnail, step.tree, goal, goal.thumbnail):
            assert client_of_judge.get(url(run, blob)).status_code == 200

    @pytest.mark.parametrize(
        "role", ["log", "artefact", "messages", "request", "response", "evidence", "html", "dom"]
    )
    @pytest.mark.slow
    def test_nothing_else_does(self, client_of_judge, run, role):
        blob = attach(run, make_text(f"the reward is 1 ({role})"), role)
        assert client_of_judge.get(url(run, blob)).status_code == 404
        assert client_of(make_user("engineer")).get(url(run, blob)).status_code == 200
