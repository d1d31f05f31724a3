""""""

import base64
import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.webagent.kept import Kept
from tests.webagent.pages import NOON, observation, png
from webagent.environment.browsergym_browsers import _multiline
from webagent.trajectory.live import ActionOutcome, Decision, Observation, StepResult
from webagent.trajectory.recording import Recorder, goal_parts, page_elements, recorded_actions
from webagent.trajectory.records import BlobPart, Box, Point, Size, TextPart


def record(
    recorder: Recorder,
    decision: Decision,
    result: StepResult | None,
    *,
    final: bool = False,
    executed: bool = True,
    before: Observation | None = None,
) -> None:
    recorder.step(
        before or observation(),
        decision,
        result,
        started_at=NOON,
        acted_at=NOON + timedelta(seconds=1),
        ended_at=NOON + timedelta(seconds=3),
        final=final,
        executed=executed,
    )


def result(**fields: Any) -> StepResult:
    outcomes = (ActionOutcome(executed=True, started_at=NOON, ended_at=NOON),)
    defaults: dict[str, Any] = {
        "observation": observation(grey=7),
        "reward": 0.0,
        "outcomes": outcomes,
    }
    return StepResult(**{**defaults, **fields})


def test_a_step_is_recorded_with_what_was_seen_done_and_caused():
    kept = Kept()
    done = result(
        reward=1.0,
        raw_reward=0.5,
        terminated=True,
        seconds={"action": 0.25},
        milestones={"a": True},
    )
    record(Recorder("r1", kept), Decision(action="click('20')", thought="The button."), done)
    (step,) = kept.steps
    assert (step.run_id, step.index, step.thought) == ("r1", 0, "The button.")
    assert (step.reward, step.terminated, step.seconds) == (0.5, True, 3.0)
    assert step.metrics == {"seconds": {"agent": 1.0, "action": 0.25}}
    assert step.extra == {"milestones": {"a": True}}
    assert step.after is None
    (action,) = step.actions
    assert action.target is not None
    assert (action.target.role, action.target.text) == ("button", "Login")
    assert action.target.box == Box(x=10, y=20, width=30, height=10)
    assert action.point == Point(x=25, y=25)
    assert action.coordinate_space == Size(width=100, height=60)
    assert action.status == "ok"


def test_blobs_are_named_by_the_hash_of_their_bytes():
    kept = Kept()
    record(Recorder("r1", kept), Decision(action="noop()"), result(), final=True)
    (step,) = kept.steps
    assert step.before is not None
    assert step.after is not None
    named = [
        blob
        for seen in (step.before, step.after)
        for blob in (seen.screenshot, seen.a11y_tree)
        if blob is not None
    ]
    assert len(named) == 4
    for blob in named:
        content = kept.blobs[blob.sha256]
        assert hashlib.sha256(content).hexdigest() == blob.sha256
        assert len(content) == blob.bytes
    assert kept.blobs[named[0].sha256] == png(100, 60)
    assert kept.blobs[named[2].sha256] == png(100, 60, 7)
    assert (named[0].width, named[0].height, named[0].media_type) == (100, 60, "image/png")


def test_steps_are_counted_from_zero_and_only_the_last_has_an_after():
    kept = Kept()
    recorder = Recorder("r1", kept)
    record(recorder, Decision(action="noop()"), result())
    record(recorder, Decision(action="noop()"), result(), final=True)
    assert [step.index for step in kept.steps] == [0, 1]
    assert [step.after is not None for step in kept.steps] == [False, True]


def test_the_error_is_put_to_the_call_that_caused_it():
    actions = recorded_actions(
        "fill('16', 'x')\nclick('99')\nclick('20')",
        observation(),
        [
            ActionOutcome(executed=True),
            ActionOutcome(executed=True, error="ValueError: no such element"),
            ActionOutcome(executed=False),
        ],
    )
    assert [action.status for action in actions] == ["ok", "error", "unknown"]
    assert [action.error for action in actions] == [None, "ValueError: no such element", None]


def test_an_element_out_of_sight_has_a_box_and_no_point():
    (action,) = recorded_actions("click('16')", observation(), [])
    assert action.target is not None
    assert action.target.box == Box(x=0, y=400, width=50, height=20)
    assert action.point is None
    assert action.status == "unknown"


def test_typing_has_a_target_and_no_click_point():
    (action,) = recorded_actions("fill('20', 'x')", observation(), [])
    assert action.target is not None
    assert action.target.box is not None
    assert action.point is None


def test_a_click_by_coordinates_keeps_its_point_and_names_no_element():
    (action,) = recorded_actions("mouse_click(12, 25)", observation(), [])
    assert action.point == Point(x=12, y=25)
    assert action.coordinate_space == Size(width=100, height=60)
    assert action.target is None


def test_text_that_is_no_action_is_kept_verbatim():
    (action,) = recorded_actions(
        "I would click it", observation(), [ActionOutcome(executed=False, error="empty")]
    )
    assert (action.raw, action.name, action.error) == ("I would click it", None, "empty")


def test_an_action_that_was_never_tried_is_no_action_of_the_step():
    kept = Kept()
    record(Recorder("r1", kept), Decision(action="click('20')"), None, executed=False, final=True)
    (step,) = kept.steps
    assert step.actions == ()
    assert step.extra == {"not_executed": "click('20')"}
    assert step.after is None


def test_an_action_in_which_the_environment_broke_is_kept_without_a_verdict():
    kept = Kept()
    record(Recorder("r1", kept), Decision(action="click('20')"), None, final=True)
    (step,) = kept.steps
    assert [action.status for action in step.actions] == ["unknown"]
    assert step.reward is None


def test_a_marked_picture_is_noted_with_its_own_size():
    kept = Kept()
    decision = Decision(action="noop()", marked_screenshot=png(300, 180, 9))
    record(Recorder("r1", kept), decision, result())
    before = kept.steps[0].before
    assert before is not None
    assert before.screenshot is not None
    assert before.marked_screenshot is not None
    assert (before.screenshot.width, before.screenshot.height) == (100, 60)
    assert (before.marked_screenshot.width, before.marked_screenshot.height) == (300, 180)


def test_an_unscored_task_leaves_no_reward():
    kept = Kept()
    record(Recorder("r1", kept), Decision(action="noop()"), result(scored=False))
    assert kept.steps[0].reward is None


def test_pictures_of_the_goal_come_with_the_first_step_alone():
    picture = png(3, 3)
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    seen = observation(goal_images=(url, "http://elsewhere/x.png", "data:image/png;base64,?"))
    kept = Kept()
    recorder = Recorder("r1", kept)
    record(recorder, Decision(action="noop()"), result(), before=seen)
    assert picture in kept.blobs.values()
    kept.blobs.clear()
    record(recorder, Decision(action="noop()"), result(), before=seen)
    assert picture not in kept.blobs.values()
    text, image = goal_parts(seen, {})
    assert isinstance(text, TextPart)
    assert isinstance(image, BlobPart)
    assert image.blob.bytes == len(picture)


@pytest.mark.parametrize("thought", [None, ""])
def test_no_thought_is_none(thought):
    kept = Kept()
    record(Recorder("r1", kept), Decision(action="noop()", thought=thought), result())
    assert kept.steps[0].thought is None


def test_a_point_on_a_button_that_writes_is_flagged_and_names_no_target():
    kept = Kept()
    tree = "RootWebArea 'x'\n\t[20] button 'Delete'"
    record(
        Recorder("r1", kept), Decision(action="mouse_click(25, 25)"), None, before=observation(tree)
    )
    assert kept.steps[0].write_like == "delete"
    assert kept.steps[0].actions[0].target is None


def test_steps_that_are_given_up_come_again_and_a_branch_begins():
    kept = Kept()
    recorder = Recorder("r1", kept)
    for _ in range(3):
        record(recorder, Decision(action="noop()"), result())
    recorder.give_up([1, 2])
    record(recorder, Decision(action="noop()"), result())
    recorder.step(
        observation(),
        Decision(action="noop()"),
        result(),
        started_at=NOON,
        acted_at=NOON,
        ended_at=NOON,
        final=False,
        replays=0,
    )
    told = [(step.index, step.state.value, step.branch) for step in kept.steps]
    assert told[:3] == [(0, "live", 0), (1, "live", 0), (2, "live", 0)]
    assert told[3:5] == [(1, "superseded", 0), (2, "superseded", 0)]
    assert told[5:] == [(3, "live", 1), (4, "replayed", 1)]
    assert (kept.steps[-1].replays, recorder.steps) == (0, 5)
    assert kept.steps[0].before is not None
    assert kept.steps[0].before.fingerprint == observation().fingerprint


def test_text_areas_are_told_from_text_boxes() -> None:
    tree = "RootWebArea 'P'\n\t[7] textbox 'area'\n\t[8] textbox 'box'\n\t[9] button 'Ok'"
    boxes = {bid: Box(x=0, y=0, width=9, height=9) for bid in ("7", "8", "9")}
    nodes = [
        {"browsergym_id": "7", "properties": [{"name": "multiline", "value": {"value": True}}]},
        {"browsergym_id": "8", "properties": [{"name": "multiline", "value": {"value": False}}]},
        {"role": {"value": "StaticText"}},
    ]
    seen = replace(observation(tree), boxes=boxes, multiline=_multiline({"nodes": nodes}))
    kept = page_elements(seen)["elements"]
    assert isinstance(kept, list)
    assert [each.get("multiline") for each in kept if isinstance(each, dict)] == [True, False, None]
