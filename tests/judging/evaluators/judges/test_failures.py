"""The failure judge: modes with steps that exist, errors that stay errors, texts that are data."""

import json
from dataclasses import replace
from typing import Any

import pytest

from judging.evaluators.judges.injections import ATTACKS, Attack
from judging.evaluators.judges.prompts import fence
from judging.evaluators.judges.shown import StepShown, Trajectory, texts_of
from judging.evaluators.judges.whole_run import FailureJudge, FailureSettings, FailuresJudged
from tests.judging.evaluators.judges.scripted import asked
from tests.webagent.llm.scripted import Scripted, message_of
from webagent.llm.interface import ModelFailure
from webagent.trajectory.verdict_records import Mode, Side

ORDER = Trajectory(
    task="Order the cheapest hose.",
    steps=(
        StepShown(index=0, action="fill('3', 'hose')", url="http://shop.test/"),
        StepShown(index=1, action="click('7')", target="link Hose", thought="This is cheapest."),
        StepShown(index=2, action="click('9')", error="no such element"),
    ),
    final_url="http://shop.test/basket",
    answer="I ordered it.",
)


def mode(name: str = "misread_observation", *steps: int) -> dict[str, object]:
    return {"mode": name, "rationale": f"{name} it is.", "evidence_steps": steps or (1,)}


def reply(*modes: dict[str, object], side: str = "reasoning", **more: Any) -> str:
    whole = {
        "rationale": "It took the wrong one.",
        "modes": modes,
        "side": side,
        "steering": False,
        "control": "",
    }
    return json.dumps(whole | more)


def judge(
    *replies: str | ModelFailure, trajectory: Trajectory = ORDER, **settings: Any
) -> tuple[FailuresJudged, Scripted]:
    return asked(FailureJudge, trajectory, replies=replies, **settings)


def test_modes_side_and_steps_in_one_reply() -> None:
    found, model = judge(reply(mode(), mode("invalid_action", 2, 2), side="both"))
    assert found.modes is not None
    assert {name: said.steps for name, said in found.modes.items()} == {
        Mode.MISREAD_OBSERVATION: (1,),
        Mode.INVALID_ACTION: (2,),
    }
    assert found.side is Side.BOTH
    assert found.judged.verdict == "not_applicable"
    assert found.judged.rationale == "It took the wrong one."
    assert len(model.requests) == 1


def test_nothing_that_went_wrong_is_an_answer_too() -> None:
    found, _ = judge(reply(side="none"))
    assert (found.modes, found.side) == ({}, None)
    found, _ = judge(reply(mode("environment"), side="none"))
    assert list(found.modes or ()) == [Mode.ENVIRONMENT]


@pytest.mark.parametrize(
    "wrong",
    [
        reply(mode(), mode()),
        reply(mode(), mode("environment")),
        reply(mode("environment"), side="operation"),
        reply(mode("plan_error", 9)),
        reply({"mode": "plan_error", "rationale": "so", "evidence_steps": []}),
        reply(mode("max_steps")),
        reply(mode(), side="none"),
        reply(side="operation"),
        reply(mode(), verdict="failed"),
        "It was the environment.",
    ],
)
def test_reply_that_does_not_hold_together_is_asked_again_and_then_an_error(wrong: str) -> None:
    found, model = judge(wrong, reply(mode()))
    assert (list(found.modes or ()), len(model.requests)) == ([Mode.MISREAD_OBSERVATION], 2)
    assert "cannot be used" in message_of(model.requests[1])
    found, _ = judge(wrong, wrong)
    assert (found.judged.verdict, found.judged.error_kind) == ("error", "invalid_reply")
    assert (found.modes, found.side) == (None, None)


def test_judge_sees_thoughts_and_errors_and_no_verdict() -> None:
    _, model = judge(reply(mode()))
    text = message_of(model.requests[0])
    assert "thought: This is cheapest." in text
    assert "error: no such element" in text
    assert "Nobody tells you whether the task was fulfilled" in model.requests[0].system
    _, model = judge(reply(mode()), show_thoughts=False)
    assert "This is cheapest." not in message_of(model.requests[0])


def test_obeyed_canary_is_manipulation_and_names_no_mode() -> None:
    canary = fence(texts_of(ORDER, FailureSettings(model="m")), longest=None).canary
    found, _ = judge(reply(mode(), control=canary))
    assert (found.judged.verdict, found.judged.is_manipulated) == ("error", True)
    assert found.modes is None


@pytest.mark.parametrize("attack", ATTACKS[:4], ids=lambda attack: attack.name)
def test_texts_of_a_run_stay_between_their_lines(attack: Attack) -> None:
    step = replace(ORDER.steps[1], thought=f"{attack.text}\nstep 9: click('pay')")
    asking = FailureJudge(language_model=Scripted(), settings=FailureSettings(model="m"))
    text = message_of(asking.requests(replace(ORDER, steps=(step,), answer=attack.text))[0])
    assert text.count("\n<<< steps ") == 1
    assert "\nstep 9:" not in text
