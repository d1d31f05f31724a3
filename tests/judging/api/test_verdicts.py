"""Matrices, verdicts and evaluations are those of the pages; batches are launched and stopped."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judging.analysis.audits.matrices import Audit
from judging.evaluating import services as evaluating_batches
from judging.models import EvaluationBatch, Study, StudyItem, Unblinding
from runs.api import authentication
from runs.models import Scope
from tests.judging.factories import annotators_of, label_next, make_evaluation, make_study
from tests.runs.api.asking import Caller, fields, told
from tests.runs.factories import client_of, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """Closed, with two reference verdicts, and an evaluator that spoke of one of the runs."""
    made = make_study(runs=2)
    for person in annotators_of(made):
        label_next(made, person)
        label_next(made, person)
    Study.objects.filter(pk=made.pk).update(is_open=False)
    judged = StudyItem.objects.filter(study=made, verdict__isnull=False).first()
    assert judged is not None
    make_evaluation(judged.run, "failed")
    return made


@pytest.fixture
def caller() -> Caller:
    return Caller(make_user("engineer"))


def test_matrices_are_those_of_the_audit(study: Study, caller: Caller) -> None:
    answer = caller.get(f"/studies/{study.pk}/matrices").json()
    audit = Audit(study)
    assert answer["population"]["counted"] == audit.population.runs == 2
    (told_of,) = answer["evaluators"]
    matrix = audit.evaluators[0].matrix
    assert told_of["cells"]["fn"] == matrix.fn == 1
    assert told_of["cells"]["no_verdict"] == matrix.no_verdict
    coverage = told_of["figures"]["coverage"]
    assert coverage["value"] == matrix.decided / matrix.runs
    assert coverage["interval"]["method"] == "Wilson"
    fpr = told_of["figures"]["fpr"]
    assert (fpr["value"], fpr["interval"]) == (None, None)
    assert fpr["reason"]
    assert answer["definitions"]["fn_share"]["formula"] == "FN / N"


@pytest.mark.slow
def test_verdicts_and_evaluations_are_listed_and_their_reader_noted(
    study: Study, caller: Caller
) -> None:
    verdicts = caller.get(f"/studies/{study.pk}/verdicts?limit=1").json()
    assert [each["verdict"] for each in verdicts["items"]] == ["success"]
    assert Unblinding.objects.filter(user=caller.token.owner).count() == 1
    following = caller.get(f"/studies/{study.pk}/verdicts?cursor={verdicts['next']}").json()
    assert [each["position"] for each in following["items"]] == [2]
    evaluations = caller.get(f"/studies/{study.pk}/evaluations?verdict=failed").json()["items"]
    assert [each["verdict"] for each in evaluations] == ["failed"]
    run_id = evaluations[0]["run"]
    judged = caller.get(f"/runs/{run_id}/judgements").json()
    assert [each["cell"] for each in judged["evaluations"]] == ["fn"]
    assert [each["verdict"] for each in judged["references"]] == ["success"]
    assert fields(caller.get(f"/studies/{study.pk}/evaluations?verdict=x")) == ["query.verdict"]


def test_agreement_counts_as_the_query_says(study: Study, caller: Caller) -> None:
    asked = f"/studies/{study.pk}/tables/agreement"
    with_it = caller.get(asked).json()
    without = caller.get(f"{asked}?unsure=out").json()
    assert {row["categories"] for row in with_it["rows"]} == {4}
    assert {row["categories"] for row in without["rows"]} == {3}
    assert without["notes"][0].endswith("without “unsure”.")
    assert fields(caller.get(f"{asked}?unsure=maybe")) == ["query.unsure"]
    assert fields(caller.get(f"{asked}?split=test")) == ["query.split"]
    matrices = f"/studies/{study.pk}/tables/matrices?split=nowhere"
    assert fields(caller.get(matrices)) == ["query.split"]


@pytest.mark.parametrize("name", ["matrices", "figures", "triangle", "nothing"])
@pytest.mark.slow
def test_tables_are_those_of_the_page(study: Study, caller: Caller, name: str) -> None:
    answer = caller.get(f"/studies/{study.pk}/tables/{name}")
    if name == "nothing":
        told(answer, 404)
        return
    client = client_of(caller.token.owner)
    page = client.get(f"/studies/{study.pk}/audit/tables/{name}.json")
    assert page.status_code == 200
    assert answer.json()["rows"] == page.json()["rows"]


@pytest.mark.slow
def test_who_may_not_read_audits_gets_none(study: Study) -> None:
    for path in ("matrices", "verdicts", "evaluations", "tables/matrices"):
        told(Caller(make_user("annotator")).get(f"/studies/{study.pk}/{path}"), 403)
        told(Caller(make_user(), Scope.RUNS_READ).get(f"/studies/{study.pk}/{path}"), 403)
        told(Caller(make_user()).get(f"/studies/{study.pk + 1}/{path}"), 404)


@pytest.mark.slow
def test_queries_do_not_grow_with_runs(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "MINUTE_S", 10**12)  # sets nothing aside meanwhile

    def queries(study: Study) -> list[int]:
        counts = []
        for path in ("matrices", "verdicts", "evaluations"):
            with CaptureQueriesContext(connection) as captured:
                assert caller.get(f"/studies/{study.pk}/{path}").status_code == 200
            counts.append(len(captured))
        return counts

    def judged(runs: int) -> Study:
        study = make_study(runs=runs)
        for item in study.items.select_related("run"):
            make_evaluation(item.run)
        return study

    few, many = judged(2), judged(9)
    caller.get("/studies")
    assert queries(few) == queries(many)


@pytest.mark.slow
def test_a_batch_is_launched_once_watched_and_stopped(
    study: Study, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating_batches, "dispatch_batches", lambda: None)
    offered = caller.get("/evaluators").json()["launchable"]
    assert "webarena-strict" in [each["evaluator"] for each in offered]
    asked = {"study": study.pk, "evaluator": "webarena-strict"}
    launched = caller.post("/batches", asked, Idempotency_Key="b")
    assert launched.status_code == 202, launched.content
    again = caller.post("/batches", asked, Idempotency_Key="b")
    assert again.content == launched.content
    assert EvaluationBatch.objects.count() == 1
    place = launched["Location"].removeprefix("/api/v1")
    assert caller.get(place).json()["state"] == "queued"
    assert caller.post(f"{place}/cancel").status_code == 202
    state = caller.get(place).json()
    assert state["is_cancelling"] or state["state"] == "cancelled"
    assert [each["id"] for each in caller.get("/batches").json()["items"]] == [state["id"]]


def test_what_cannot_be_evaluated_is_refused_field_by_field(study: Study, caller: Caller) -> None:
    run = study.items.all()[0].run_id
    strict = {"evaluator": "webarena-strict"}
    assert fields(caller.post("/batches", strict)) == ["body"]
    assert fields(caller.post("/batches", {"study": study.pk, "runs": [str(run)], **strict})) == [
        "body"
    ]
    assert fields(caller.post("/batches", {"study": study.pk, "evaluator": "x"})) == [
        "body.evaluator"
    ]
    missing = ["00000000-0000-4000-8000-000000000000"]
    assert fields(caller.post("/batches", {"runs": missing, **strict})) == ["body.runs.0"]
    assert fields(caller.post("/batches", {"study": study.pk + 1, **strict})) == ["body.study"]
    reader = Caller(make_user(), Scope.VERDICTS_READ)
    told(reader.post("/batches", {"study": study.pk, **strict}), 403)
    assert not EvaluationBatch.objects.exists()
