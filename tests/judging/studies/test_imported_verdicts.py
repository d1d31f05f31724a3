"""What a file says of its runs stays hidden from whoever is still to judge them."""

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from judging.models import StudyItem
from runs.imports.storing import import_bundle
from runs.models import Run, User
from tests.judging.factories import annotators_of, make_study, next_assignment
from tests.runs.factories import client_of, make_user
from tests.runs.storage.stores import use_store
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.reading import open_runs

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_import_labels.py stores verdicts on both"),
    pytest.mark.slow,
]
DATA = Path(__file__).parents[2] / "data" / "agentrewardbench"
SAID = ("@agentrewardbench", "stub-judge", "AgentRewardBench", "first annotator", "annotations.csv")


@pytest.fixture
def run(settings: Any, tmp_path: Path) -> Run:
    use_store(settings, tmp_path / "blobs")
    with open_runs(DATA) as source:
        found = [bundle for bundle in source if isinstance(bundle, RunBundle)]
    bundle = next(each for each in found if each.task.external_id == "miniwob.click-button")
    return Run.objects.get(pk=import_bundle(bundle).run_id)


def pages(run: Run, user: User) -> dict[str, Any]:
    """What the person gets of the run under each address that shows verdicts or files."""
    client = client_of(user)
    names = ("runs:run_detail", "runs:run_files", "judging:run_judgements")
    answers = {name: client.get(reverse(name, args=[run.pk])) for name in names}
    original = run.attachments.filter(role="source").values_list("blob_id", flat=True)[0]
    answers["blob"] = client.get(reverse("runs:run_blob", args=[run.pk, original]))
    return answers


def test_annotators_see_neither_imported_labels_nor_judgements(run: Run) -> None:
    study = make_study(runs=[run])
    annotator = annotators_of(study)[0]
    assert next_assignment(study=study, user=annotator) is not None
    assert StudyItem.objects.filter(run=run).count() == 2
    answers = pages(run, annotator)
    assert answers["runs:run_detail"].status_code == 200
    assert answers["runs:run_files"].status_code == 404
    assert answers["blob"].status_code == 404
    for name in ("runs:run_detail", "judging:run_judgements"):
        shown = answers[name].content.decode()
        assert not [word for word in SAID if word in shown], name


def test_who_is_not_blind_sees_them_all(run: Run) -> None:
    answers = pages(run, make_user("engineer"))
    shown = answers["judging:run_judgements"].content.decode()
    assert "A@agentrewardbench" in shown
    assert "AgentRewardBench stub-judge" in shown
    assert "annotations.csv" in answers["runs:run_files"].content.decode()
    assert answers["blob"].status_code == 200
