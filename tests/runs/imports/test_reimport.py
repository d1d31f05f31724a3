"""Foreign formats through the database: labels and verdicts beside the runs, and read again."""

import json
import zipfile
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.models import Evaluation, EvaluatorVersion, Label, ReferenceVerdict, Study, StudyItem
from runs.imports.management.commands.import_runs import read_answers
from runs.imports.reimporting import Became, reimport
from runs.imports.storing import import_bundle
from runs.models import Run, User
from tests.runs.factories import make_user
from tests.runs.imports.test_import_runs import import_json
from tests.runs.imports.test_reading_again import older_importer
from tests.webagent.trajectory.formats import DATA, only

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_storing.py stores on both"),
    pytest.mark.slow,
]


def stored_history(monkeypatch: Any) -> Run:
    """A run as an older importer stored it; the importer of today is back."""
    with older_importer(monkeypatch):
        run_id = import_bundle(only(DATA / "browser_use" / "find_price")).run_id
    return Run.objects.get(pk=run_id)


def test_annotations_and_judgments_come_with_their_runs_and_once(store, capsys):
    for n_new in (3, 0):
        code, report = import_json(capsys, DATA / "agentrewardbench")
        assert (code, len(report["imported"])) == (0, n_new)
        study = Study.objects.get(name="AgentRewardBench annotations")
        assert (study.is_open, study.items.count(), study.members.count()) == (False, 3, 2)
        assert Label.objects.count() == 6
        assert ReferenceVerdict.objects.count() == 3
        assert User.objects.filter(username="A@agentrewardbench", is_active=False).exists()
        judged = Evaluation.objects.filter(evaluator__name="AgentRewardBench stub-judge")
        assert sorted(judged.values_list("verdict", flat=True)) == ["failed", "failed", "passed"]
    # What came with the file is what would be said of the reward here.
    assert EvaluatorVersion.objects.filter(name="imported-reward").count() == 1
    assert Evaluation.objects.filter(evaluator__name="imported-reward").count() == 3
    first = report["already_there"][0]
    assert (first["labels"], first["evaluations"], first["gaps"]) == (2, 3, 0)


def test_a_cut_zip_leaves_its_place_to_the_whole_one(store, capsys, tmp_path):
    folder = DATA / "online_mind2web" / "v2"
    with zipfile.ZipFile(whole := tmp_path / "whole.zip", "w") as archive:
        for path in sorted(folder.rglob("*.*")):
            archive.write(path, path.relative_to(folder))
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:-200])
    with pytest.raises(SystemExit):
        call_command("import_runs", str(cut), "--dry-run")
    assert "archive: cut short: the end is missing" in capsys.readouterr().out
    for given, n_rejected, n_runs in ((cut, 1, 0), (whole, 0, 1), (cut, 1, 1)):
        code, report = import_json(capsys, given)
        assert (code, len(report["rejected"])) == (n_rejected, n_rejected)
        assert Run.objects.count() == n_runs


def test_a_dry_run_stores_nothing_and_asks(store, capsys):
    call_command("import_runs", str(DATA / "online_mind2web"), "--dry-run")
    out = capsys.readouterr().out
    assert "3 runs, 30 steps, 7 screenshots" in out
    assert "--answer om2w_labels=official: 0 failure, 1 success, 2 not executable" in out
    assert "Missing: screenshot" in out
    assert not Run.objects.exists()
    with pytest.raises(CommandError):
        call_command("import_runs", str(DATA), "--dry-run", "--answer", "om2w_labels")


def test_an_answer_to_nothing_that_is_asked_is_an_error():
    assert read_answers(["om2w_labels=swapped"]) == {"om2w_labels": "swapped"}
    with pytest.raises(CommandError, match="no such question; there is om2w_labels"):
        read_answers(["om2w_label=official"])
    with pytest.raises(CommandError, match="one of official, swapped"):
        read_answers(["om2w_labels=both"])


def test_an_answer_can_follow_without_a_new_upload(store, capsys):
    import_json(capsys, DATA / "online_mind2web")
    assert Label.objects.count() == 2
    call_command("reimport", "--answer", "om2w_labels=official")
    assert "4 as before" in capsys.readouterr().out
    said = Label.objects.values_list("success", flat=True)
    assert sorted(said) == ["failure", "not_executable", "success", "success"]
    call_command("reimport", "--answer", "om2w_labels=official")
    assert Label.objects.count() == 4


def test_a_better_importer_reads_the_original_and_the_address_stays(store, monkeypatch):
    run = stored_history(monkeypatch)
    use = reimport(run, answers={}, only_look=True)
    assert (use.became, Run.objects.get().content_hash) == (Became.REPLACED, run.content_hash)
    found = reimport(run, answers={})
    assert (found.became, found.run_id) == (Became.REPLACED, run.pk)
    again = Run.objects.get()
    assert [step.thought for step in again.steps.order_by("index")][0] == "Start at the shop."
    assert again.n_screenshots == 2
    assert reimport(again, answers={}).became is Became.UNCHANGED
    assert Evaluation.objects.filter(evaluator__kind="self_judge").count() == 1


@pytest.mark.parametrize(
    ("kind", "config", "became"),
    [
        ("matcher", {}, Became.REPLACED),
        ("modes", {}, Became.REPLACED),
        ("modes", {"model": "m"}, Became.KEPT),
        ("judge", {"model": "m"}, Became.KEPT),
    ],
)
def test_what_a_model_was_paid_for_keeps_the_run(store, monkeypatch, kind, config, became):
    run = stored_history(monkeypatch)
    version = EvaluatorVersion.objects.create(
        name="e", kind=kind, version="1", config=config, config_hash="h"
    )
    Evaluation.objects.create(run=run, evaluator=version, verdict="passed")
    found = reimport(run, answers={})
    assert found.became is became
    assert ("was asked about it here" in found.reason) == (became is Became.KEPT)


def test_a_run_that_is_judged_here_stays_as_it_was(store, monkeypatch):
    run = stored_history(monkeypatch)
    study = Study.objects.create(name="Garden")
    StudyItem.objects.create(study=study, run=run, position=1)
    found = reimport(run, answers={})
    assert (found.became, found.reason) == (Became.KEPT, "it is in the study Garden")
    assert Run.objects.get().content_hash == run.content_hash


def test_a_run_without_an_original_says_so(store, capsys):
    import_json(capsys, next((DATA / "agentlab" / "scripted").iterdir()))
    call_command("reimport", "--json")
    (row,) = json.loads(capsys.readouterr().out)
    assert row["became"] == "no_original"


def test_where_a_run_came_from_is_shown(store, client, monkeypatch):
    run = stored_history(monkeypatch)
    client.force_login(make_user())
    page = client.get(reverse("runs:run_files", args=[run.pk])).content.decode()
    assert "crosscheck-browser_use" in page
    assert "the tool does not save its usage" in page
    assert "history.json" in page
