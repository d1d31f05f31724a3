"""A replication that is started on its page is carried out by workers, to its report."""

from collections import Counter
from collections.abc import Iterator

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from judging.models import Evaluation, Replication, ReplicationPart
from runs.models import KnowledgeSet, LearningJob, Run
from tests.judging.analysis.audited import person as make_user
from tests.judging.replication import files
from tests.judging.replication.own_model import own_model
from tests.judging.replication.test_pages import RUNNER
from tests.runs.factories import client_of
from tests.runs.live_workers import Site, wait_until
from tests.runs.operations.integrity import rows_hold

pytestmark = [pytest.mark.worker, pytest.mark.sqlite_only("its parts are tested on both")]

STUDY = files.text("""
[tasks.clicks]
set = "miniwob"
ids = ["click-button", "click-option"]
[trials]
seeds = "3"
[arms.solves]
agent = "oracle"
max_steps = 6
[arms.stands]
agent = "stuck"
max_steps = 6
[arms.told]
agent = "generic"
model = "own-model"
config = { benchmark = "miniwob" }
knowledge = { set = "lessons", kind = "summarised" }
max_steps = 8
[learning.lessons]
kind = "knowledge"
arms = ["solves", "stands"]
model = "own-model"
summarise = true
[judging.people]
arms = ["solves", "stands"]
sample = 3
evaluators = [{ name = "imported-reward" }]

[[tables]]
key = "accuracy"
title = "Accuracy"
place = "Table 4"
report = "configurations"
verdict = "reward"
columns = [{ key = "accuracy", column = "value", unit = "percent" }]
rows = [
  { name = "solves", arm = "solves", published = { accuracy = 53.6 } },
  { name = "stands", arm = "stands", published = { accuracy = 42.1 } },
  { name = "told", arm = "told", published = { accuracy = 47.2 } },
]
""")


@pytest.fixture(scope="module")
def models(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with own_model(tmp_path_factory.mktemp("models")) as file:
        site.environment["MODELS_FILE"] = str(file)
        yield


def ours(client: Client, replication: Replication) -> dict[str, float | None]:
    """The figures of the page's table by row."""
    address = reverse("judging:replication_table", args=[replication.pk, "accuracy", "json"])
    return {row["row"]: row["ours"] for row in client.get(address).json()["rows"]}


@pytest.mark.usefixtures("models")
def test_workers_carry_out_what_the_page_starts(site: Site) -> None:
    client = client_of(make_user("runner", *RUNNER, "runs.view_run"))
    file = SimpleUploadedFile("study.toml", STUDY.encode())
    client.post(reverse("judging:replication_list"), {"file": file})
    replication = Replication.objects.get()
    assert ours(client, replication) == {"solves": None, "stands": None, "told": None}
    client.post(reverse("judging:replication_run", args=[replication.pk]))

    def ended() -> bool:
        replication.refresh_from_db()
        assert not replication.problem
        return replication.ended_at is not None

    with site.worker(processes=2):
        wait_until(ended, 400, "the end of the replication")
    assert ours(client, replication) == {"solves": 100, "stands": 0, "told": 100}
    page = client.get(replication.get_absolute_url()).content.decode()
    assert "carried out" in page
    assert 'hx-trigger="every' not in page
    kinds = Counter(ReplicationPart.objects.values_list("kind", flat=True))
    assert kinds == {"experiment": 2, "learning": 1, "judging": 1}
    assert Run.objects.count() == 6
    assert {job.state for job in LearningJob.objects.all()} == {"finished"}
    assert KnowledgeSet.objects.filter(kind="summarised").count() == 1
    assert Evaluation.objects.count() >= 3
    rows_hold()
