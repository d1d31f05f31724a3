"""What is told of stored runs: by the detectors when a run ends, and by a judge when asked."""

from typing import Any

import pytest

from judging.analysis.audits.matrices import Audit
from judging.evaluating.evaluating import Again, runs_to_evaluate, version_of
from judging.evaluators.contract import having_read
from judging.evaluators.failure_modes import FailureJudgeEvaluator
from judging.evaluators.registry import evaluator_named, evaluator_of, predefined_evaluators
from judging.extension import RerunFacts
from judging.models import Evaluation
from runs.models import Event, Run, Step
from runs.models.hooks import runs_ended
from tests.judging.analysis import audited
from tests.judging.evaluators.judges.test_failures import mode, reply
from tests.webagent.llm.scripted import Scripted
from webagent.llm.interface import FailureKind, ModelFailure

pytestmark = pytest.mark.django_db


def run(*actions: str, step: dict[str, Any] | None = None, **fields: Any) -> Run:
    """A failed run; all its steps are alike but for their actions."""
    made = audited.run(outcome="failure", n_steps=len(actions), **fields)
    alike = {"kind": "click", "url": "http://shop.test/"} | (step or {})
    Step.objects.bulk_create(
        Step(run=made, index=index, action=action, **alike) for index, action in enumerate(actions)
    )
    return made


def told(of: Run, name: str = "failure-modes-mechanical") -> dict[str, Any]:
    found: dict[str, Any] = of.evaluations.get(evaluator__name=name).details["failure_modes"]
    return found


def looked_at(of: Run) -> Any:
    """What the fixed rules find."""
    return evaluator_named("failure-modes-mechanical").evaluate(of).details["failure_modes"]


def judged(*replies: str | ModelFailure, of: Run) -> Any:
    judge = FailureJudgeEvaluator.make(language_model=Scripted(*replies), model="judge")
    return judge.evaluate(of)


def test_runs_that_are_read_together_are_told_of_as_each_alone(
    django_assert_num_queries: Any,
) -> None:
    runs = [run(*["click('a')"] * 5), run("click('a')"), run(), run("click('b')", "noop()")]
    evaluator = evaluator_named("failure-modes-mechanical")
    together = having_read(evaluator, runs[:3])
    with django_assert_num_queries(0):
        found = [together.evaluate(each) for each in runs[:3]]
    assert found == [evaluator.evaluate(each) for each in runs[:3]]
    assert found[0].details["failure_modes"]
    assert not found[1].details["failure_modes"]
    assert together == evaluator


def test_a_run_that_ends_is_looked_at_at_once() -> None:
    ended = run(*["click('a')"] * 5, end_reason=Run.EndReason.MAX_STEPS)
    runs_ended.send(sender=Run, run_ids=[ended.pk])
    assert told(ended) == {
        "repetitive": {"rule": "repeated_block", "steps": [0, 1, 2, 3, 4]},
        "max_steps": {"rule": "step_limit", "steps": []},
    }
    [said] = ended.evaluations.filter(evaluator__kind="modes")
    assert (said.verdict, said.reason) == (
        "not_applicable",
        "says how a run fails, not whether it does",
    )


def test_pages_are_told_apart_by_fingerprint_and_undone_steps_do_not_count() -> None:
    alike = {"record": {"before": {"fingerprint": "same"}}, "kind": "scroll"}
    stuck = run(*["scroll(0, 100)"] * 6, step=alike)
    assert list(looked_at(stuck)) == ["repetitive"]
    undone = run("a", "b", step={"state": Step.State.SUPERSEDED}, has_anomaly=True)
    Event.objects.create(run=undone, kind=Event.Kind.LOOP, first_step=0, last_step=1)
    assert looked_at(undone) == {}


def test_an_error_is_the_environments_and_asks_no_judge() -> None:
    broken = audited.run(outcome="error", error_origin="environment", n_steps=2)
    assert list(looked_at(broken)) == ["environment"]
    assert judged(of=broken).reason == "the run ended in an error"


def test_judge_tells_modes_side_and_cost_and_no_verdict() -> None:
    finding = judged(reply(mode()), of=run("a", "b"))
    assert finding.verdict == "not_applicable"
    assert finding.details["failure_modes"] == {
        "misread_observation": {"rationale": "misread_observation it is.", "steps": [1]}
    }
    assert finding.details["side"] == "reasoning"
    assert str(finding.cost) == "0.001"
    assert finding.details["stages"][0]["prompt"] == "failures/1/failures"


def test_trouble_of_the_judge_is_an_error_and_can_be_made_up_for() -> None:
    silent = run("a", "b")
    finding = judged(ModelFailure(FailureKind.TIMED_OUT, "late"), of=silent)
    assert (finding.verdict, "failure_modes" in finding.details) == ("error", False)
    version = version_of(FailureJudgeEvaluator.make(language_model=Scripted(), model="judge"))
    said = audited.evaluation(silent, version, "error")
    everything = Run.objects.all()
    assert silent in runs_to_evaluate(version, everything, Again.NO_VERDICT)
    Evaluation.objects.filter(pk=said.pk).update(verdict="not_applicable")
    assert silent not in runs_to_evaluate(version, everything, Again.NO_VERDICT)


def test_identities_say_all_and_are_made_again() -> None:
    for evaluator in (
        evaluator_named("failure-modes-mechanical"),
        FailureJudgeEvaluator.make(language_model=Scripted(), model="judge", show_thoughts=False),
    ):
        again = evaluator_of(version_of(evaluator))
        assert again.identity == evaluator.identity
    names = [each.identity.name for each in predefined_evaluators(immediate=True)]
    assert "failure-modes-mechanical" in names


def test_they_are_no_judges_of_success() -> None:
    study = audited.study()
    item = study.add("failure")
    runs_ended.send(sender=Run, run_ids=[item.run_id])
    names = {each.evaluator.name for each in Audit(study.study).evaluators}
    assert "failure-modes-mechanical" not in names
    offered = {name for name, _ in RerunFacts().evaluators()}
    assert not {"failure-modes-mechanical", "failure-judge"} & offered
