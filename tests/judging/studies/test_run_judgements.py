"""The pane beside a run: everything for auditors, nothing that a blind person may not see."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from judging.analysis.audits.explanations import Explanation, Segment, decided_by, difference
from judging.models import Assignment, Evaluation, StudyItem, StudyMember, Unblinding
from runs.models import Run, User
from tests.judging.analysis import audited
from tests.runs.factories import client_of, make_run
from webagent import measures

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]

CHECKS = {
    "checks": [
        {
            "name": "exact_match",
            "verdict": "failed",
            "expected": "15213",
            "actual": "The answer is 15213.",
            "normalised": "the answer is 15213.",
            "message": "not the same",
            "rules": [],
        }
    ],
    "rules": [],
}


@pytest.fixture
def item() -> StudyItem:
    """A run that both annotators call a success and the matcher does not."""
    world = audited.study()
    a, b = audited.person("ann"), audited.person("bob")
    for user in (a, b):
        audited.member(world.study, user)
    run = audited.run(reward=0.25, final_answer="The answer is 15213.")
    item = world.add("success", [(a, "success"), (b, "success")], of=run)
    audited.evaluation(run, audited.evaluator("strict"), "failed", score=0.0, details=CHECKS)
    audited.evaluation(run, audited.evaluator("judge"), "error", reason="needs a judge")
    audited.evaluation(run, audited.evaluator("old"), "passed", is_current=False)
    return item


def pane(user: User, run: Run, **query: Any) -> str:
    answer = fetch(user, run, **query)
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def fetch(user: User, run: Run, current: str = "", **query: Any) -> Any:
    client = client_of(user)
    headers = (
        {"HX-Request": "true", "HX-Current-URL": current} if current else {"HX-Request": "true"}
    )
    address = reverse("judging:run_judgements", args=[run.pk])
    return client.get(address, query, headers=headers)


def reopen(item: StudyItem) -> None:
    item.verdict.delete()
    item.status = StudyItem.Status.OPEN
    item.save()


def hand_out(item: StudyItem, name: str, **fields: Any) -> None:
    now = timezone.now()
    user = User.objects.get(username=name)
    Assignment.objects.create(item=item, user=user, leased_until=now, opened_at=now, **fields)


def test_auditor_sees_verdict_cell_and_what_decided(item: StudyItem) -> None:
    page = pane(audited.auditor(), item.run)
    assert 'class="cell fn"' in page
    assert 'class="cell none"' in page
    assert "exact_match" in page
    assert "needs a judge" in page
    assert "not the same" in page
    assert "old" not in page
    assert "ann" in page
    assert "bob" in page


def test_difference_is_marked_in_the_actual_answer(item: StudyItem) -> None:
    page = pane(audited.auditor(), item.run)
    assert '<mark class="extra">The answer is </mark>15213<mark class="extra">.</mark>' in page


def test_what_was_too_long_to_compare_is_said(
    item: StudyItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    auditor = audited.auditor()
    assert "Too long to compare" not in pane(auditor, item.run)
    monkeypatch.setattr(measures, "MOST_PAIRS", 1)
    assert "Too long to compare in full" in pane(auditor, item.run)


@pytest.mark.slow
def test_evaluator_of_the_address_is_open(item: StudyItem) -> None:
    judge = audited.evaluator("strict").pk
    audited.evaluation(item.run, audited.evaluator("a first one"), "passed")
    page = pane(audited.auditor(), item.run, audit=judge)
    assert page.count('<details class="evaluator" open>') == 1
    assert page.index('<details class="evaluator" open>') < page.index("a first one")
    page = fetch(
        audited.auditor("other"), item.run, current=f"http://testserver/runs/x/?audit={judge}"
    ).content.decode()
    assert page.count('<details class="evaluator" open>') == 1


def test_walk_leads_to_the_neighbours_in_the_cell() -> None:
    world = audited.study()
    judge = audited.evaluator()
    audited.judged(world, judge, ["fn", "tp", "fn", "fn"])
    query = {"study": world.study.pk, "audit": judge.pk, "cell": "fn"}
    page = pane(audited.auditor(), world.items[2].run, **query)
    assert "2 of 3" in page
    for place, key in ((0, "p"), (3, "n")):
        assert f'data-walk="{key}" href="/runs/{world.items[place].run_id}/?study=' in page


@pytest.mark.parametrize(
    "query",
    [
        {"study": "1; drop", "audit": "x", "cell": "fn"},
        {"study": "99999999999999999999", "audit": "1", "cell": "fn"},
        {"study": "99", "audit": "99", "cell": "fn"},
        {"study": "1", "audit": "1", "cell": "<b>"},
    ],
)
def test_nonsense_in_the_address_is_no_error(item: StudyItem, query: dict[str, str]) -> None:
    answer = fetch(audited.auditor(), item.run, **query)
    assert answer.status_code == 200
    assert "<b>" not in answer.content.decode()


def test_annotator_of_an_open_run_sees_their_own_label_alone(item: StudyItem) -> None:
    reopen(item)
    hand_out(item, "ann")
    item.labels.filter(annotator__username="bob").update(success="failure")
    page = pane(item.labels.get(annotator__username="ann").annotator, item.run)
    assert "verdict success" in page
    for hidden in ("bob", "failure", "strict", "FN", "exact_match", "0.25", "Reference verdict"):
        assert hidden not in page


def test_blind_pane_is_the_same_whatever_the_others_and_evaluators_say(item: StudyItem) -> None:
    reopen(item)
    newcomer = audited.person("cid", "judging.view_audit", "runs.view_run")
    audited.member(item.study, newcomer)
    judge = audited.evaluator("strict").pk
    query = {"study": item.study_id, "audit": judge, "cell": "fn"}
    before = pane(newcomer, item.run, **query)
    item.labels.all().delete()
    Evaluation.objects.all().delete()
    Run.objects.filter(pk=item.run_id).update(superseded=False)
    assert pane(newcomer, item.run, **query) == before
    assert "success" not in before


def test_hidden_second_look_shows_not_even_the_own_label(item: StudyItem) -> None:
    ann = item.labels.get(annotator__username="ann").annotator
    hand_out(item, "ann", is_repeat=True)
    page = pane(ann, item.run)
    assert "verdict success" not in page
    assert "bob" not in page


def test_adjudicator_is_blind_until_the_decision(item: StudyItem) -> None:
    reopen(item)
    StudyItem.objects.filter(pk=item.pk).update(status=StudyItem.Status.DISPUTED)
    judge = audited.person("ida", "judging.adjudicate")
    audited.member(item.study, judge, StudyMember.Part.ADJUDICATOR)
    page = pane(judge, item.run)
    assert "strict" not in page
    assert "ann" not in page


def test_annotator_of_a_settled_run_sees_people_but_no_evaluator(item: StudyItem) -> None:
    ann = item.labels.get(annotator__username="ann").annotator
    hand_out(item, "ann", state=Assignment.State.SUBMITTED)
    page = pane(ann, item.run)
    assert "Reference verdict" in page
    assert "bob" in page
    assert "strict" not in page


def test_whoever_may_not_see_the_run_sees_no_pane(item: StudyItem) -> None:
    assert fetch(audited.person("stranger"), item.run).status_code == 404
    address = reverse("judging:run_judgements", args=[item.run_id])
    assert Client().get(address).status_code == 302


def test_whole_page_without_htmx(item: StudyItem) -> None:
    client = client_of(audited.auditor())
    page = client.get(reverse("judging:run_judgements", args=[item.run_id])).content.decode()
    assert page.lstrip().startswith("<!doctype html>")
    assert "exact_match" in page


def test_what_an_evaluation_holds_is_escaped(item: StudyItem) -> None:
    hostile = "<script>alert(1)</script>"
    details = {"checks": [{"name": hostile, "verdict": hostile, "expected": hostile}], "x": hostile}
    audited.evaluation(
        item.run, audited.evaluator("h"), "failed", details=details, rationale=hostile
    )
    Run.objects.filter(pk=item.run_id).update(superseded=False)
    assert "<script>alert" not in pane(audited.auditor(), item.run)


@pytest.mark.parametrize(
    "details",
    [{}, [], "text", 3, {"checks": "x"}, {"checks": [3, None]}, {"rules": [1]}, {"a": {"b": []}}],
)
@pytest.mark.slow
def test_details_of_any_form_are_shown_somehow(item: StudyItem, details: object) -> None:
    evaluation = audited.evaluation(item.run, audited.evaluator("odd"), "passed", details=details)
    assert Explanation(evaluation).checks == []
    assert isinstance(decided_by(details), str)
    assert "odd" in pane(audited.auditor(), item.run)


@pytest.mark.slow
def test_the_pane_reads_in_one_order(item: StudyItem) -> None:
    """Verdicts of people, reference and evaluators; why; progress; lineage."""
    rerun = make_run(task=item.run.task, rerun_of=item.run, pictures=False)
    auditor = audited.auditor()
    page = pane(auditor, item.run)
    parts = ["People", "Reference verdict", "Evaluators", 'id="failure"', "run-progress", "Lineage"]
    assert sorted(parts, key=page.index) == parts
    assert str(rerun.pk) in page.split("Lineage")[1]
    assert "Mark as failed?" in page  # people call it a success, whatever a matcher says
    other = pane(auditor, rerun).split("Lineage")[1]
    assert str(item.run_id) in other
    assert "Original" in other


def test_evaluators_without_a_verdict_are_folded_after_the_others(item: StudyItem) -> None:
    for name in ("a mute one", "another mute one"):
        audited.evaluation(item.run, audited.evaluator(name), "error")
    audited.evaluation(item.run, audited.evaluator("z strict"), "failed")
    shown = pane(audited.auditor(), item.run)
    parts = ["z strict", "No verdict (", "a mute one", "another mute one"]
    assert sorted(parts, key=shown.index) == parts


@pytest.mark.slow
def test_lineage_says_what_came_of_a_rerun_and_compares_with_the_original_first(
    item: StudyItem,
) -> None:
    ended = timezone.now()
    rerun = make_run(task=item.run.task, rerun_of=item.run, pictures=False, ended_at=ended)
    compare = f"?a={item.run_id}&amp;b={rerun.pk}"
    auditor, reader = audited.auditor(), audited.person("reader", "runs.view_run")
    for run in (item.run, rerun):
        shown = pane(auditor, run).split("Lineage")[1]
        assert 'class="result' in shown
        assert compare in shown
        assert 'class="result' not in pane(reader, run)  # evaluators tell it, too


def test_lineage_tells_the_blind_nothing(item: StudyItem) -> None:
    rerun = make_run(task=item.run.task, rerun_of=item.run, pictures=False)
    reopen(item)
    page = pane(User.objects.get(username="ann"), item.run)
    assert "Lineage" not in page
    assert str(rerun.pk) not in page


@pytest.mark.slow
def test_queries_do_not_grow_with_the_evaluators(item: StudyItem) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:run_judgements", args=[item.run_id])
    walk = f"?study={item.study_id}&audit={audited.evaluator('strict').pk}&cell=fn"
    client.get(address)  # who sees it is recorded the first time only
    counted = []
    for number in range(2):
        with CaptureQueriesContext(connection) as queries:
            client.get(address + walk, headers={"HX-Request": "true"})
        counted.append(len(queries))
        for more in range(5):
            audited.evaluation(item.run, audited.evaluator(f"more {number} {more}"), "passed")
    assert counted[1] == counted[0] < 26


def test_rules_that_changed_the_verdict_are_what_decided() -> None:
    assert decided_by({"rules": ["sentence", "case"], "checks": []}) == "sentence, case"
    passed = [{"name": "a", "verdict": "passed"}, {"name": "b", "verdict": "passed"}]
    assert decided_by({"checks": passed}) == "all 2 checks"
    assert decided_by({"checks": [*passed, {"name": "c", "verdict": "failed"}]}) == "c"
    assert decided_by({"checks": passed[:1]}) == "a"


class TestDifference:
    def test_pieces_join_to_the_texts(self) -> None:
        found = difference("a  b c", "A b\nd", passed=False)
        assert "".join(piece.text for piece in found.expected) == "a  b c"
        assert "".join(piece.text for piece in found.actual) == "A b\nd"

    def test_numbers_are_compared_whole(self) -> None:
        found = difference("36.39", "136.39", passed=False)
        assert found.expected == [Segment("36", "missing"), Segment(".39")]
        assert found.actual == [Segment("136", "extra"), Segment(".39")]

    def test_passed_check_marks_what_was_found(self) -> None:
        found = difference("Garden Hose", "It is the garden hose, surely", passed=True)
        assert found.expected == [Segment("Garden Hose")]
        assert Segment("garden hose", "same") in found.actual
        assert {piece.mark for piece in found.actual} == {"", "same"}

    def test_long_texts_that_share_nothing_are_marked_as_a_whole(self) -> None:
        found = difference("a " * 5000, "b " * 5000, passed=False)
        assert [(segment.text.strip(), segment.mark) for segment in found.expected] == [
            (("a " * 5000).strip(), "missing")
        ]


@pytest.mark.slow
def test_who_sees_labels_or_verdicts_is_recorded_once(item: StudyItem) -> None:
    outsider = audited.person("outsider", "runs.view_run")
    for _ in range(2):
        pane(outsider, item.run)
    assert Unblinding.objects.get().user == outsider
    assert Unblinding.objects.get().item == item
    StudyMember.objects.create(study=item.study, user=outsider, part="adjudicator")
    StudyItem.objects.filter(pk=item.pk).update(status="disputed")
    Unblinding.objects.all().delete()
    pane(outsider, item.run)
    assert not Unblinding.objects.exists()  # blind now, and so shown nothing
