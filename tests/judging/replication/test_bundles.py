"""A bundle of a replication gives the same report elsewhere."""

import json
import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoDbBlocker

from judging.models import Replication, StudyItem
from judging.replication.bundles import write_bundle
from runs.models import Run, RunStatus
from tests.judging.factories import make_evaluation
from tests.judging.replication.files import replicate
from tests.judging.replication.test_examples import EXAMPLES
from tests.judging.replication.test_work import FEWER
from tests.runs.factories import make_run
from tests.runs.knowledge.lever_world import inhabited
from tests.webagent.trajectory.formats import zip_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("its parts are tested on both"),
]


@pytest.fixture(scope="module")
def bundle(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, str]:
    """A bundle of a whole run, and its report; the database is empty again."""
    folder = tmp_path_factory.mktemp("levers")
    file, out = folder / "levers.toml", folder / "levers.zip"
    file.write_text(FEWER)
    with django_db_blocker.unblock():
        with inhabited(folder):
            replicate(file, "--run")
            said = replicate(file, "--report", "--format", "json")
            replicate(file, "--bundle", str(out))
        call_command("flush", interactive=False, verbosity=0)
        assert not Run.objects.exists()
    return out, said


def test_the_same_bundle_elsewhere_gives_the_same_report(bundle: tuple[Path, str]) -> None:
    out, said = bundle
    assert replicate(out, "--report", "--format", "json") == said
    n = Run.objects.count()
    assert n == 20
    assert replicate(out, "--report", "--format", "json") == said
    assert (Run.objects.count(), Replication.objects.count()) == (n, 1)
    again = out.with_name("again.zip")
    replicate(out, "--bundle", str(again))
    assert zipfile.ZipFile(again).read("study.toml") == zipfile.ZipFile(out).read("study.toml")


def test_an_arm_is_not_known_by_an_attempt_without_a_hash(bundle: tuple[Path, str]) -> None:
    out, _said = bundle
    replicate(out, "--report")
    again, replication = out.with_name("again.zip"), Replication.objects.get()
    known = write_bundle(again, replication).experiments
    run = Run.objects.select_related("experiment", "agent").earliest("created_at")
    make_run(
        pk=UUID(int=0),
        experiment=run.experiment,
        agent=run.agent,
        status=RunStatus.FAILED,
        superseded=True,
        content_hash=None,
    )
    assert write_bundle(again, replication).experiments == known


BESIDE = """
format = "crosscheck-study/1"
name = "runs beside it"
runs = ["runs.zip"]
[paper]
title = "A study"
[arms.plain]
experiment = "levers: plain"
[judging.people]
arms = ["plain"]
[[tables]]
key = "accuracy"
title = "Accuracy"
place = "Table 1"
report = "configurations"
arm = "plain"
columns = [{ key = "n" }]
rows = [{ name = "plain" }]
"""


def test_runs_beside_a_study_file_are_imported_before_its_arms_are_looked_for(
    bundle: tuple[Path, str],
) -> None:
    out, _said = bundle
    zipfile.ZipFile(out).extract("runs.zip", out.parent)
    file = out.with_name("beside.toml")
    file.write_text(BESIDE)
    found = json.loads(replicate(file, "--run", "--format", "json"))["tables"]
    assert found["accuracy"]["rows"][0]["ours"] == 4
    assert StudyItem.objects.count() == 4


def test_labels_of_stubs_and_splits_come_along(tmp_path: Path) -> None:
    file, out = EXAMPLES / "agentrewardbench" / "study.toml", tmp_path / "labels.zip"
    replicate(file, "--run")
    said = replicate(file, "--report", "--format", "json")
    replicate(file, "--bundle", str(out))
    call_command("flush", interactive=False, verbosity=0)
    assert replicate(out, "--report", "--format", "json") == said
    # What the site evaluates of its own accord is no part of it.
    for run in Run.objects.all():
        make_evaluation(run)
    assert replicate(out, "--report", "--format", "json") == said


def test_a_changed_bundle_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"no zip")
    with pytest.raises(CommandError, match="is no bundle of a replication"):
        replicate(bad)
    head = (
        '{"format": "crosscheck-replication/1", "name": "x", "file_name": "x",'
        ' "programs": {}, "files": {"study.toml": "00"}}'
    )
    bad.write_bytes(zip_of({"replication.json": head, "study.toml": "x"}))
    with pytest.raises(CommandError, match=r"bad.zip, study.toml: was changed"):
        replicate(bad)
    bad.write_bytes(zip_of({"replication.json": '{"format": "other"}'}))
    with pytest.raises(CommandError, match="format"):
        replicate(bad)
    assert not Replication.objects.exists()
