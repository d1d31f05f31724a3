"""Failure modes on pages: beside a run, in lists, on an experiment and on a study's audit."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.reports import failure_modes
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.population import whole_scope
from judging.analysis.experiments.reports import EXPERIMENT
from judging.analysis.failure_modes.services import Statement, review_runs
from judging.models import FailureReview, Unblinding
from runs.models import Experiment, Run
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.judging.analysis.failure_modes.test_shares import LIMIT, MISREAD, PLAN, proposes
from tests.runs.factories import client_of, make_agent, make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]
HX = {"HX-Request": "true"}


@pytest.fixture
def client() -> Client:
    return client_of(make_user("engineer", "eva"))


@pytest.fixture
def experiment() -> Experiment:
    """Five failures and a success of one configuration: rules find the step limit in four, the
    judge a plan error in two and no answer in one; one ended in an error.
    """
    of, agent = made.experiment("Failures"), make_agent()
    tasks = made.tasks(7)
    rewards = [0.0] * 5 + [1.0, None]
    runs = made.store(
        made.run_row(of, task, agent, reward) for task, reward in zip(tasks, rewards, strict=True)
    )
    for run in runs[:4]:
        proposes(run, "failure-modes-mechanical", {LIMIT})
    for run in runs[:2]:
        proposes(run, "failure-judge", {PLAN}, "reasoning")
    proposes(runs[2], "failure-judge", None)
    return of


def failures(of: Experiment) -> list[Run]:
    return list(of.runs.filter(reward=0.0).order_by("task__external_id"))


def page(client: Client, name: str, *args: object, **query: object) -> str:
    answer = client.get(made.address(name, *args, **query))
    assert answer.status_code == 200, answer
    return answer.content.decode()


def test_experiment_tells_shares_with_intervals_and_opens_the_runs(
    client: Client, experiment: Experiment
) -> None:
    part = page(client, "experiment_part", experiment.pk, "failures", verdict="reward")
    row = re.search(r"plan error.*?</tr>", part, re.DOTALL)
    assert row
    assert "100.0 %" in row[0]
    assert "2/2 · 34.2–100.0" in row[0], "of those that somebody read for it"
    assert "1 failure is older than the fixed rules" in part
    [address] = set(re.findall(r'href="([^"]+mode=plan_error[^"]*)"', part))
    listed = client.get(address.replace("&amp;", "&")).content.decode()
    assert listed.count("data-run=") == 2
    [of_side] = set(re.findall(r'href="([^"]+mode=side_reasoning[^"]*)"', part))
    assert client.get(of_side.replace("&amp;", "&")).content.decode().count("data-run=") == 2
    assert "reasoning error" in listed
    judged = page(
        client, "experiment_part", experiment.pk, "failures", verdict="reward", by="judge"
    )
    assert "2/2" in judged
    for word in ("nobody", "1"):
        assert client.get(
            made.address("experiment_runs", experiment.pk, mode="plan_error", by=word)
        ).status_code == 404  # fmt: skip


def test_confirming_in_bulk_and_taking_it_back(client: Client, experiment: Experiment) -> None:
    runs = failures(experiment)
    back = made.address("experiment_runs", experiment.pk, verdict="reward", standing="failure")
    given = {"run": [run.pk for run in runs], "action": "confirm", "back": back}
    answer = client.post(reverse("judging:failure_reviews"), given, follow=True)
    text = answer.content.decode()
    assert "Saved for 4 runs." in text
    assert "No proposals for 1 of them." in text
    assert text.count("confirmed") == 4
    batch = FailureReview.objects.filter(run=runs[0]).get().batch
    undo = {"action": "undo", "batch": batch, "back": back}
    text = client.post(reverse("judging:failure_reviews"), undo, follow=True).content.decode()
    assert "Undone for 4 runs." in text
    assert "confirmed" not in text
    changed = {**given, "action": "say", "modes": ["misread_observation"], "side": "operation"}
    client.post(reverse("judging:failure_reviews"), changed)
    assert FailureReview.objects.filter(is_current=True, side="operation").count() == 5
    people = page(client, "experiment_part", experiment.pk, "failures", by="people")
    assert "5/5" in people
    for odd in ("https://elsewhere.test/", "//elsewhere.test/"):
        answer = client.post(reverse("judging:failure_reviews"), {**given, "back": odd})
        assert answer["Location"].startswith("/runs/")


def test_beside_a_run_one_confirms_changes_rejects_and_takes_back(
    client: Client, experiment: Experiment
) -> None:
    run = failures(experiment)[0]
    beside = client.get(reverse("judging:run_judgements", args=[run.pk]), headers=HX)
    text = beside.content.decode()
    assert "Confirm proposals" in text
    assert "failure-judge" in text
    address = reverse("judging:failure_review", args=[run.pk])
    for data, words in (
        ({"action": "confirm"}, "plan error, step limit"),
        ({"action": "save", "modes": ["misread_observation"], "note": "Step 2."}, "Step 2."),
        ({"action": "reject"}, "None fits"),
        ({"action": "undo"}, "misread observation"),
    ):
        text = client.post(address, data, headers=HX).content.decode()
        assert text.strip().startswith("<details")
        assert "Saved." in text
        assert words in text
    assert [each.decision for each in FailureReview.objects.filter(run=run).order_by("pk")] == [
        *("confirmed", "changed", "rejected", "changed")
    ]
    wrong = {"action": "save", "modes": ["environment", "plan_error"]}
    assert client.post(address, wrong, headers=HX).status_code == 422
    assert client.get(address).content.decode().strip().startswith("<!doctype html>")


def test_of_a_success_nobody_is_asked_how_it_failed(client: Client, experiment: Experiment) -> None:
    run = experiment.runs.get(reward=1.0)
    asked, after_all = "How did it fail?", "Mark as failed?"

    def beside() -> str:
        return client.get(
            reverse("judging:run_judgements", args=[run.pk]), headers=HX
        ).content.decode()

    assert after_all in beside()
    assert asked not in beside()
    audited.evaluation(run, audited.evaluator("strict"), "failed")
    assert asked in beside()


def test_where_evaluators_pass_a_run_of_unknown_outcome_nobody_is_asked(client: Client) -> None:
    run = make_run(outcome="unknown", pictures=False)
    address, after_all = reverse("judging:run_judgements", args=[run.pk]), "Mark as failed?"
    assert after_all not in client.get(address, headers=HX).content.decode()
    audited.evaluation(run, audited.evaluator("strict"), "passed")
    assert after_all in client.get(address, headers=HX).content.decode()
    audited.evaluation(run, audited.evaluator("other"), "failed")
    assert after_all not in client.get(address, headers=HX).content.decode()


def test_what_a_model_wrote_is_escaped(client: Client, experiment: Experiment) -> None:
    run = failures(experiment)[4]
    by = audited.evaluator("failure-judge", kind="modes")
    hostile = {"failure_modes": {"plan_error": {"rationale": "<script>x</script>", "steps": "no"}}}
    audited.evaluation(run, by, "not_applicable", details=hostile)
    text = client.get(reverse("judging:failure_review", args=[run.pk])).content.decode()
    assert "&lt;script&gt;x" in text
    assert "<script>x" not in text


def test_the_blind_and_those_without_permission_see_and_say_nothing(experiment: Experiment) -> None:
    run = failures(experiment)[0]
    address = reverse("judging:failure_review", args=[run.pk])
    reader = client_of(audited.person("reader", "runs.view_run", "judging.view_audit"))
    assert "Save" not in reader.get(address).content.decode()
    assert reader.post(address, {"action": "confirm"}).status_code == 403
    blind = make_user("engineer", "blind")
    study = audited.study()
    study.add(of=run)
    audited.member(study.study, blind)
    other = client_of(blind)
    assert other.get(address).status_code == 404
    other.post(reverse("judging:failure_reviews"), {"run": [run.pk], "action": "confirm"})
    assert not FailureReview.objects.exists()
    beside = other.get(reverse("judging:run_judgements", args=[run.pk]), headers=HX)
    assert "plan error" not in beside.content.decode()
    assert other.get(made.address("audit_failures", study.study.pk)).status_code == 403


def test_a_study_tells_its_failures_by_reference(client: Client) -> None:
    study = audited.study()
    user = audited.person("someone")
    for number in range(4):
        item = study.add("failure" if number else "success")
        proposes(item.run, "failure-modes-mechanical", {LIMIT})
    last = study.items[-1].run
    review_runs(user=user, run_ids=[last.pk], statement=Statement(modes=frozenset({MISREAD})))
    text = page(client, "audit_failures", study.study.pk)
    row = re.search(r"step limit.*?</tr>", text, re.DOTALL)
    assert row
    assert "2/3" in row[0]
    [address] = set(re.findall(r'href="([^"]+mode=misread_observation[^"]*)"', text))
    listed = client.get(address.replace("&amp;", "&")).content.decode()
    assert str(last.pk) in listed
    assert listed.count("data-run=") == 1
    assert Unblinding.objects.filter(reason="failures of an audit").count() == 1
    assert client.get(made.address("audit_failures", study.study.pk, by="x")).status_code == 404


def test_tables_say_what_the_pages_say(experiment: Experiment) -> None:
    report = EXPERIMENT.make("modes", Facts(whole_scope(experiment)))
    columns = [column.key for column in report.header]
    rows = [dict(zip(columns, row, strict=True)) for row in report.values]
    [plan] = [row for row in rows if (row["by"], row["mode"]) == ("known", "plan_error")]
    assert (plan["runs"], plan["n"], plan["failures"], plan["not_told"]) == (2, 2, 5, 1)
    assert plan["value"] == 1.0
    study = audited.study()
    proposes(study.add("failure").run, "failure-modes-mechanical", {LIMIT})
    report = failure_modes(AuditFacts(study.study))
    assert [row[3] for row in report.values if row[1:3] == ["known", "max_steps"]] == [1]
