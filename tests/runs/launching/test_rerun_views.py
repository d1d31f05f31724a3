"""Pages of reruns: who may, what they show, when they stop asking."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from runs.launching.reruns import services as reruns
from runs.launching.reruns.services import queue_run
from runs.models import Run, RunStatus, User
from tests.judging.factories import make_study
from tests.runs.factories import (
    client_of,
    make_agent,
    make_experiment,
    make_run,
    make_task,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reruns, "wake_workers", lambda: None)


@pytest.fixture
def engineer() -> Client:
    return client_of(make_user("engineer"))


def ours(**fields: Any) -> Run:
    """A run made here; fields are written as they are."""
    run = queue_run(task="miniwob.click-test", agent="oracle", seed=4)
    Run.objects.filter(pk=run.pk).update(**fields)
    return Run.objects.get(pk=run.pk)


def ended(outcome: str = "failure", **fields: Any) -> Run:
    status = RunStatus.FAILED if outcome == "error" else RunStatus.FINISHED
    return ours(**{"status": status, "outcome": outcome, "end_reason": "task_ended", **fields})


def sent(**fields: Any) -> dict[str, Any]:
    """What the form sends when nothing is changed in it."""
    return {"agent": "", "seeds": "same", "trials": 1, "token": uuid.uuid4(), **fields}


def address(name: str, run: Run) -> str:
    return reverse(f"runs:{name}", args=[run.pk])


def test_the_form_says_what_ran_and_what_could(engineer: Client):
    url = address("run_rerun", ended())
    page = engineer.get(url).content.decode()
    assert "as before: oracle" in page
    assert "looping: repeats one action that changes nothing" in page
    dialog = engineer.get(url, headers=HTMX).content.decode()
    assert "<html" not in dialog
    assert "data-closes-dialog" in dialog


def test_usual_lengths_are_offered(engineer: Client):
    page = engineer.get(address("run_rerun", ended())).content.decode()
    assert 'list="step-limits"' in page
    assert re.findall(r'<option value="(\d+)"></option>', page) == ["30", "50", "100"]


@pytest.mark.slow
def test_sending_the_form_queues_and_leads_to_the_live_page(engineer: Client):
    run = ended()
    response = engineer.post(address("run_rerun", run), sent(trials=2))
    assert response.status_code == 302
    assert response["Location"] == reverse("runs:rerun_list")
    assert Run.objects.filter(rerun_of=run, status="queued").count() == 2
    assert "2 runs are queued" in engineer.get(response["Location"]).content.decode()


def test_htmx_is_led_there_too(engineer: Client):
    response = engineer.post(address("run_rerun", ended()), sent(), headers=HTMX)
    assert response.status_code == 204
    assert response["HX-Redirect"] == reverse("runs:rerun_list")


@pytest.mark.slow
def test_a_double_click_makes_one_set(engineer: Client):
    run, data = ended(), sent(trials=2)
    for _ in range(2):
        engineer.post(address("run_rerun", run), data)
    assert Run.objects.filter(rerun_of=run).count() == 2


@pytest.mark.parametrize(
    "wrong",
    [{"trials": 0}, {"trials": 21}, {"seeds": "fixed"}, {"agent": "nobody"}, {"token": "x"}],
)
def test_a_wrong_form_comes_back_and_queues_nothing(wrong: dict[str, Any], engineer: Client):
    run = ended()
    response = engineer.post(address("run_rerun", run), sent(**wrong), headers=HTMX)
    assert response.status_code == 422
    assert b'id="rerun-form"' in response.content
    assert b"<html" not in response.content
    assert not Run.objects.filter(rerun_of=run).exists()


def test_a_wrong_seed_is_told_once(engineer: Client):
    wrong = sent(seeds="fixed", seed="x", trials=0)
    response = engineer.post(address("run_rerun", ended()), wrong, headers=HTMX)
    words = response.content.decode()
    assert re.findall(r'id="id_(\w+)_error"', words) == ["seed", "trials"]
    assert "Required." not in words


def test_an_imported_agent_is_explained_and_others_are_offered(engineer: Client):
    run = make_run(task=ended().task, agent=make_agent("GenericAgent"))
    page = engineer.get(address("run_rerun", run)).content.decode()
    assert "The agent GenericAgent came with an import and cannot run here." in page
    assert "as before:" not in page
    assert engineer.post(address("run_rerun", run), sent()).status_code == 422
    assert engineer.post(address("run_rerun", run), sent(agent="oracle")).status_code == 302


def test_a_missing_environment_is_explained_and_no_form_is_shown(engineer: Client):
    page = engineer.get(address("run_rerun", make_run(task=make_task("webarena.7"))))
    assert "browsergym-webarena" in page.content.decode()
    assert b"<select" not in page.content


@pytest.mark.slow
def test_selected_rows_give_a_form_and_then_runs(engineer: Client):
    first, second, other = ended(), ended(), make_run(task=make_task("shopdemo.1"))
    url = reverse("runs:run_rerun_selected")
    chosen = [str(run.pk) for run in (first, second, other)] + ["nonsense", str(uuid.uuid4())]
    page = engineer.post(url, {"run": chosen})
    assert page.status_code == 200
    assert "3 runs" in page.content.decode()
    assert Run.objects.count() == 3
    response = engineer.post(url, {"run": chosen, **sent()})
    assert response.status_code == 302
    assert set(Run.objects.filter(status="queued").values_list("rerun_of_id", flat=True)) == {
        first.pk,
        second.pk,
    }
    assert "shopdemo" in engineer.get(response["Location"]).content.decode()


def test_whoever_judges_a_run_cannot_rerun_it():
    run, judge = ended(), make_user("engineer")
    make_study(runs=[run], annotators=[judge, make_user("annotator")])
    browser = client_of(judge)
    page = browser.get(address("run_rerun", run)).content.decode()
    assert "You are judging this run" in page
    assert "oracle" not in page
    assert browser.post(address("run_rerun", run), sent()).status_code == 422
    assert browser.post(address("run_rerun", run), sent(agent="looping")).status_code == 422
    assert not Run.objects.filter(rerun_of=run).exists()


def test_the_live_page_hides_from_a_judge_who_acted_and_how_it_went():
    run, judge = ended("error", n_steps=2, max_steps=9), make_user("engineer")
    study = make_study(runs=[run], annotators=[judge, make_user("annotator")], hides_identity=True)
    assert study.pk
    live = client_of(judge).get(reverse("runs:rerun_list")).content.decode()
    assert str(run.pk) in live
    assert "oracle" not in live
    assert "status failed" not in live
    assert ">failed<" not in live
    assert 'class="verdict error"' not in live
    assert "retry-" not in live


@pytest.mark.slow
def test_the_live_page_asks_again_only_while_something_moves(engineer: Client):
    run = ended()
    url = reverse("runs:rerun_list")
    assert b"every 2s" not in engineer.get(url).content
    ours(status=RunStatus.RUNNING)
    moving = engineer.get(url, headers=HTMX)
    assert b"every 2s" in moving.content
    assert b"<html" not in moving.content
    assert "HX-Request" in moving["Vary"]
    assert str(run.pk) in moving.content.decode()


def test_a_row_tells_state_step_time_and_what_can_be_done(engineer: Client):
    for seconds in (20.0, 40.0):
        ended("success", seconds=seconds)
    started_at = timezone.now() - timedelta(seconds=10)
    run = ours(status="running", n_steps=4, max_steps=9, started_at=started_at, attempt=2)
    live = engineer.get(reverse("runs:rerun_list")).content.decode()
    row = live.split(f'data-run="{run.pk}"')[1].split("</tr>")[0]
    assert "running" in row
    assert "attempt 2" in row
    assert "4 of 9" in row
    assert "about 20 s" in row or "about 19 s" in row
    assert f'id="cancel-{run.pk}"' in row
    assert f'id="retry-{run.pk}"' not in row


def test_a_row_of_a_broken_run_offers_to_retry(engineer: Client):
    run = ended("error")
    live = engineer.get(reverse("runs:rerun_list")).content.decode()
    assert f'id="retry-{run.pk}"' in live
    response = engineer.post(address("run_retry", run), headers=HTMX)
    assert response["HX-Trigger"] == "jobs-changed"
    later = Run.objects.get(retry_of=run)
    page = response.content.decode()
    assert str(later.pk) in page
    assert str(run.pk) not in page


def test_cancelling_from_the_page(engineer: Client):
    waiting, over = ours(status=RunStatus.QUEUED), ended()
    page = engineer.post(address("run_cancel", waiting), headers=HTMX).content.decode()
    assert "cancelled" in page
    waiting.refresh_from_db()
    assert waiting.status == RunStatus.CANCELLED
    again = engineer.post(address("run_cancel", over), headers=HTMX).content.decode()
    assert "had already ended" in again
    assert engineer.post(address("run_cancel", over))["Location"] == reverse("runs:rerun_list")


def test_a_run_that_waits_for_its_next_attempt_says_so(engineer: Client):
    ours(status=RunStatus.QUEUED, not_before=timezone.now() + timedelta(seconds=30), attempt=2)
    live = engineer.get(reverse("runs:rerun_list")).content.decode()
    assert "again in 30 s" in live or "again in 29 s" in live


@pytest.mark.slow
def test_the_number_of_queries_does_not_grow_with_the_rows(engineer: Client):
    def queries(rows: int) -> int:
        for _ in range(rows):
            ours(status=RunStatus.RUNNING, started_at=timezone.now())
        with CaptureQueriesContext(connection) as captured:
            assert engineer.get(reverse("runs:rerun_list"), headers=HTMX).status_code == 200
        return len(captured)

    assert queries(2) == queries(20)


def test_experiments_count_what_the_table_would_show(engineer: Client):
    experiment = make_experiment("Gardens & hoses")
    make_run(experiment=experiment, pictures=False)
    make_run(experiment=experiment, pictures=False, superseded=True)
    make_experiment("Nothing yet")
    page = engineer.get(reverse("runs:experiment_list")).content.decode()
    assert "Gardens &amp; hoses" in page
    assert f"{reverse('runs:run_list')}?experiment=Gardens%20%26%20hoses" in page
    assert sorted(re.findall(r">(\d+ runs?)</td>", page)) == ["0 runs", "1 run"]


def test_what_is_under_way_stands_first_then_what_is_next(engineer: Client):
    rows = [ended(), ours(), ours(), ours(status=RunStatus.RUNNING)]
    live = engineer.get(reverse("runs:rerun_list")).content.decode()
    shown = re.findall('data-run="([^"]+)"', live)
    assert shown == [str(rows[at].pk) for at in (3, 1, 2, 0)]


@pytest.mark.slow
def test_all_of_ones_own_are_cancelled_at_once(engineer: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("runs.launching.reruns.services.ask_for_sweep", lambda: None)
    owner = User.objects.get(pk=engineer.session["_auth_user_id"])
    mine = [ours(created_by=owner), ours(created_by=owner, status=RunStatus.RUNNING)]
    others = [ours(), ours(created_by=owner, experiment=make_experiment()), ended(created_by=owner)]
    assert "Cancel my 2 runs" in engineer.get(reverse("runs:rerun_list")).content.decode()
    live = engineer.post(reverse("runs:rerun_cancel_own"), headers=HTMX).content.decode()
    assert "2 runs are stopping." in live
    asked = Run.objects.filter(cancel_requested_at__isnull=False)
    assert set(asked) == set(mine)
    assert not asked.filter(pk__in=[run.pk for run in others]).exists()


@pytest.mark.slow
def test_the_page_that_asks_again_gets_the_rows_of_ended_runs_only_when_they_change(
    engineer: Client, monkeypatch: pytest.MonkeyPatch
):
    first, now = ended(), timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)  # once a minute it gets all of them
    rerun = ended("success", rerun_of=first, family=first.pk, queued_at=now, ended_at=now)
    ours(status=RunStatus.RUNNING)
    page = engineer.get(reverse("runs:rerun_list")).content.decode()
    assert f'id="result-{rerun.pk}"' in page
    [again] = re.findall(r'hx-get="([^"]+)" hx-trigger="every 2s"', page)
    again = again.replace("&amp;", "&")

    def asked() -> str:
        return engineer.get(again, headers=HTMX).content.decode()

    assert f'<tr id="rerun-{rerun.pk}" hx-preserve></tr>' in asked()
    assert f'id="result-{rerun.pk}"' not in asked()
    assert f'id="result-{rerun.pk}"' in engineer.get(again).content.decode(), "the whole page"
    ended()
    assert f'id="result-{rerun.pk}"' in asked(), "one more has ended"
    Run.objects.filter(status=RunStatus.RUNNING).update(status=RunStatus.FINISHED)
    assert f'id="result-{rerun.pk}"' in asked(), "nothing moves"
