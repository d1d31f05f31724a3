"""Mechanical milestones as evaluations."""

from typing import Any

import pytest

from judging.evaluating.evaluating import evaluate_runs, version_of
from judging.evaluating.tasks import evaluate_task, retire_progress
from judging.evaluators.contract import having_read
from judging.evaluators.matchers import PLACEHOLDER
from judging.evaluators.milestones import (
    NO_MILESTONES,
    NOT_ALL_CHECKED,
    NOT_CHECKED,
    NOTHING_TO_LOOK_AT,
    MechanicalMilestones,
    stored_progress,
)
from judging.models import Evaluation
from runs.catalogue.milestones.definitions import digest_of_task
from runs.catalogue.milestones.services import set_milestones
from runs.models import Run, Task
from tests.runs.factories import make_run, make_task, make_text
from webagent.milestones.checks import ElementCheck, TextCheck, UrlCheck
from webagent.milestones.findings import Definition, Rule
from webagent.trajectory.records import BlobRecord, Observation

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests an evaluator")]

CART = Definition(name="cart", weight=3, rule=Rule(reached_when=UrlCheck(pattern="*/cart")))
AGREED = ElementCheck(name="agree", state="checked")
BOX = Definition(name="agreed", weight=1, rule=Rule(reached_when=AGREED))
SAID = Definition(name="said")


def step(path: str, tree: str = "", **record: object) -> dict[str, Any]:
    """A step whose page has this address and tree, as a run's record has it."""
    blob = make_text(tree) if tree else None
    seen = Observation(
        url=f"http://shop{path}",
        a11y_tree=blob
        and BlobRecord(sha256=blob.pk, media_type="text/plain", bytes=len(tree), role="a11y_tree"),
    )
    return {"record": {"before": seen.to_json(), **record}}


def made(task: Task, *steps: dict[str, Any], **fields: Any) -> Run:
    return make_run(task=task, steps=steps, pictures=False, **fields)


def task_with(*milestones: Definition) -> Task:
    task = make_task()
    set_milestones(task=task, milestones=milestones)
    return task


def test_progress_is_kept_with_what_was_found():
    task = task_with(CART, BOX)
    run = made(
        task,
        step("/", "[1] checkbox 'agree', checked='true'"),
        step("/cart"),
        step("/end", "[1] checkbox 'agree', checked='false'"),
    )
    finding = MechanicalMilestones().evaluate(run)
    assert (finding.verdict, finding.score) == (Evaluation.Verdict.FAILED, 1.0)
    stored = stored_progress(finding.details)
    assert stored is not None
    assert (stored.progress.by_step, stored.progress.final) == ((100.0, 75.0, 75.0), 75.0)
    assert stored.milestones_hash == digest_of_task(task)
    assert [(one.name, one.achieved_at, one.lost_at) for one in stored.milestones] == [
        ("cart", 0, None),
        ("agreed", 0, 1),
    ]
    assert stored.milestones[0].rationale == "the address is http://shop/cart"


def test_it_says_nothing_of_runs_without_steps_or_milestones(django_assert_num_queries: Any):
    reported = step("/", extra={"milestones": ["cart"]})
    having = [made(task_with(CART), step("/")), made(make_task(), step("/"), reported)]
    runs = [*having, made(task_with(CART)), made(make_task(), step("/"))]
    together = having_read(MechanicalMilestones(), runs)
    with django_assert_num_queries(0):
        assert [run for run in runs if together.applies_to(run)] == having
    assert [run for run in runs if MechanicalMilestones().applies_to(run)] == having


def test_what_is_regained_after_a_loss_is_kept_too():
    pages = ("true", "true", "false", "true")
    steps = [step("/", f"[1] checkbox 'agree', checked='{state}'") for state in pages]
    stored = stored_progress(MechanicalMilestones().evaluate(made(task_with(BOX), *steps)).details)
    assert stored is not None
    [box] = stored.milestones
    assert (box.achieved_at, box.lost_at, box.regained) == (0, 1, ((2, None),))


def test_all_at_the_end_is_passed():
    run = made(task_with(CART), step("/"), step("/cart"))
    assert MechanicalMilestones().evaluate(run).verdict == Evaluation.Verdict.PASSED


def test_what_has_no_check_keeps_a_run_from_passing_and_from_nothing_else():
    finding = MechanicalMilestones().evaluate(made(task_with(CART, SAID), step("/cart")))
    assert (finding.verdict, finding.reason) == (Evaluation.Verdict.ERROR, NOT_ALL_CHECKED)
    assert (finding.score, finding.details["unchecked"]) == (1.0, ["said"])
    failed = MechanicalMilestones().evaluate(made(task_with(CART, SAID), step("/")))
    assert failed.verdict == Evaluation.Verdict.FAILED


def test_what_is_at_a_site_whose_address_is_not_set_is_unchecked(settings: Any):
    away = Definition(name="away", rule=Rule(reached_when=UrlCheck(pattern="__SHOPPING__/cart")))
    settings.SITE_HOSTS = {}
    run = made(task_with(away), step("/cart"))
    finding = MechanicalMilestones().evaluate(run)
    assert (finding.verdict, finding.reason) == (Evaluation.Verdict.ERROR, PLACEHOLDER)
    assert finding.details == {"placeholder": "__SHOPPING__"}
    finding = MechanicalMilestones().evaluate(made(task_with(CART, away), step("/cart")))
    assert (finding.reason, finding.score) == (NOT_ALL_CHECKED, 1.0)
    assert (finding.details["unchecked"], finding.details["placeholder"]) == (
        ["away"],
        "__SHOPPING__",
    )
    settings.SITE_HOSTS = {"shopping": "http://shop"}
    assert MechanicalMilestones().evaluate(run).verdict == Evaluation.Verdict.PASSED


def test_what_nothing_was_recorded_for_counts_neither_way():
    finding = MechanicalMilestones().evaluate(made(task_with(CART, BOX), step("/cart")))
    assert (finding.reason, finding.details["unseen"]) == (NOT_ALL_CHECKED, ["agreed"])
    text = Definition(name="text", rule=Rule(reached_when=TextCheck(text="Thanks")))
    finding = MechanicalMilestones().evaluate(made(task_with(text), step("/cart")))
    assert (finding.verdict, finding.reason) == (Evaluation.Verdict.ERROR, NOTHING_TO_LOOK_AT)


@pytest.mark.parametrize(("milestones", "reason"), [((), NO_MILESTONES), ((SAID,), NOT_CHECKED)])
def test_without_checks_it_does_not_apply(milestones: tuple[Definition, ...], reason: str):
    finding = MechanicalMilestones().evaluate(made(task_with(*milestones), step("/cart")))
    assert (finding.verdict, finding.reason) == (Evaluation.Verdict.NOT_APPLICABLE, reason)


def test_a_run_that_broke_has_no_verdict():
    run = made(task_with(CART), step("/cart"), outcome=Run.Outcome.ERROR)
    assert MechanicalMilestones().evaluate(run).verdict == Evaluation.Verdict.ERROR


class TestReports:
    def reporting(self, task: Task) -> Run:
        said = [{"found": False, "told": False}, {"found": True, "told": False}]
        steps = [step("/", extra={"milestones": one}) for one in said]
        return made(task, *steps)

    def test_what_the_environment_reports_is_enough(self):
        run = self.reporting(make_task())
        assert MechanicalMilestones().applies_to(run)
        finding = MechanicalMilestones().evaluate(run)
        assert (finding.verdict, finding.score) == (Evaluation.Verdict.FAILED, 0.5)
        assert finding.details["milestones_hash"] == digest_of_task(run.task)

    def test_it_serves_for_the_tasks_own_of_that_name(self):
        found = Definition(name="found", weight=9)
        run = self.reporting(task_with(found, CART))
        assert MechanicalMilestones().evaluate(run).score == 0.75

    def test_other_runs_without_milestones_are_passed_over(self):
        assert not MechanicalMilestones().applies_to(made(make_task(), step("/")))


class TestStale:
    def evaluated(self, run: Run) -> Evaluation:
        version = version_of(MechanicalMilestones())
        evaluate_runs([run], MechanicalMilestones(), version)
        return Evaluation.objects.get(run=run, is_current=True)

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
        asked: list[tuple[int, int]] = []

        def send(arguments: tuple[int, int], **_: object) -> None:
            asked.append(arguments)

        monkeypatch.setattr(evaluate_task, "apply_async", send)
        return asked

    def test_an_edit_makes_it_history_and_has_it_measured_again(
        self, asked: list[tuple[int, int]], django_capture_on_commit_callbacks: Any
    ):
        task = task_with(CART)
        run, other = made(task, step("/cart")), made(task, step("/"))
        first = self.evaluated(run)
        with django_capture_on_commit_callbacks(execute=True):
            set_milestones(task=task, milestones=[CART, BOX])
        first.refresh_from_db()
        assert not first.is_current
        ((task_id, evaluator_id),) = asked
        for _ in range(2):  # a second delivery finds nothing to do
            evaluate_task(task_id, evaluator_id)
        current = Evaluation.objects.filter(is_current=True, evaluator=evaluator_id)
        assert {one.run_id: one.score for one in current} == {run.pk: 1.0, other.pk: 0.0}
        assert current.get(run=run).details["unseen"] == ["agreed"]

    def test_what_was_measured_by_the_same_stays(self, asked: list[tuple[int, int]]):
        run = made(task_with(CART), step("/cart"))
        kept = self.evaluated(run)
        assert retire_progress(task_id=run.task_id) == 0
        kept.refresh_from_db()
        assert kept.is_current
