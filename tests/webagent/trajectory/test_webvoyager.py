"""WebVoyager's task folders."""

import json
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA, copied, rejections, runs, truth
from tests.webagent.trajectory.samples import png
from webagent.trajectory.formats.webvoyager import read_action, read_replies, read_task
from webagent.trajectory.records import EndReason, Outcome

SAMPLES = DATA / "webvoyager"
TRUTH = truth("webvoyager")


@pytest.mark.parametrize("name", TRUTH)
def test_each_folder_is_as_its_truth_says(name):
    true, bundle = TRUTH[name], runs(SAMPLES)[name]
    assert bundle.run.goal[0].text == true["task"]
    assert [a.raw for step in bundle.steps for a in step.actions] == true["actions"]
    assert (len(bundle.steps), bundle.n_screenshots) == (true["n_steps"], true["n_screenshots"])
    assert bundle.run.totals.input_tokens == true["prompt_tokens"]
    assert bundle.run.totals.output_tokens == true["completion_tokens"]
    assert bundle.steps[0].llm_calls[0].input_tokens == 900
    assert (bundle.run.final_answer, bundle.run.end_reason) == ("24.90", EndReason.AGENT_STOPPED)
    assert (bundle.task.external_id, bundle.task.sites) == ("Shop--find_price", ("Shop",))
    assert [url.partition(":")[0] for url in bundle.task.start_urls] == ["http"]
    assert bundle.run.outcome is Outcome.UNKNOWN
    assert not bundle.problems


def test_pictures_go_by_number_and_marks_are_told_apart(tmp_path):
    folder = copied("webvoyager", tmp_path) / "taskShop--find_price"
    (folder / "screenshot1.png").unlink()
    (folder / "screenshot2_no_box.png").write_bytes(png(shade=9))
    (folder / "screenshot9.png").write_bytes(png(shade=8))
    (folder / "accessibility_tree2.json").write_text('["tree"]')
    (folder / "agent.log").write_text("INFO - Prompt Tokens: 5; Completion Tokens: 6\n")
    [bundle] = runs(folder).values()
    first, second, _ = bundle.steps
    assert first.before is None
    assert second.before.screenshot != second.before.marked_screenshot is not None
    assert bundle.read_blob(second.before.a11y_tree.sha256) == b'["tree"]'
    assert {gap.where for gap in bundle.run.gaps} == {
        *("screenshot1.png", "screenshot9", "agent.log")
    }
    assert second.llm_calls == ()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Type [0]; a; b", ("type", ("0", "a; b"), "0")),
        ("Scroll [WINDOW]; down", ("scroll", ("WINDOW", "down"), None)),
        ("GoBack", ("goback", (), None)),
        ("ANSWER; [3] of them", ("answer", ("[3] of them",), None)),
        ("ANSWER [24]", ("answer", ("[24]",), None)),
        ("Click 7", ("click", ("7",), "7")),
        ("Click on the link", ("click", ("on the link",), None)),
    ],
)
def test_actions(raw, expected):
    action = read_action(raw)
    assert action is not None
    assert (action.name, action.args, action.target and action.target.bid) == expected


def test_names_with_spaces_and_pictures_that_are_only_named(tmp_path):
    given = copied("webvoyager", tmp_path) / "taskShop--find_price"
    folder = given.rename(tmp_path / "taskGoogle Flights--3")
    path = folder / "interact_messages.json"
    messages: list[dict[str, Any]] = json.loads(path.read_text())
    placeholder = {"type": "image_url", "image_url": {"url": "data:image/png;base64,{b64_img}"}}
    words = {"type": "text", "text": "Observation: (Omitted in context.)"}
    for message in [m for m in messages if m["role"] == "user"][1:]:
        message["content"] = [words, placeholder]
    path.write_text(json.dumps(messages))
    [bundle] = runs(folder).values()
    assert (bundle.task.external_id, bundle.task.sites) == (
        ("Google Flights--3", ("Google Flights",))
    )
    assert (bundle.n_screenshots, bundle.problems) == (len(bundle.steps), ())


def test_a_reply_in_another_form_is_a_gap_of_its_run(tmp_path):
    folder = copied("webvoyager", tmp_path) / "taskShop--find_price"
    path = folder / "interact_messages.json"
    messages: list[dict[str, Any]] = json.loads(path.read_text())
    replies = [message for message in messages if message["role"] == "assistant"]
    replies[0]["content"] = "I would rather not."
    path.write_text(json.dumps(messages))
    [bundle] = runs(folder).values()
    assert (bundle.steps[0].thought, bundle.steps[0].actions) == ("I would rather not.", ())
    assert [gap.what for gap in bundle.run.gaps] == ["action"]


def test_a_reply_in_another_form_stays_whole():
    [reply] = read_replies([{"role": "assistant", "content": "I give up."}])
    assert (reply.raw, reply.action) == ("I give up.", None)
    assert read_task([{"role": "user", "content": "Do it."}]).goal == "Do it."


@pytest.mark.parametrize("content", ["[]", "[{}]", "[3]", '[{"role": "assistant'])
def test_broken_messages_are_refused(tmp_path, content):
    (tmp_path / "interact_messages.json").write_text(content)
    [refused] = rejections(tmp_path)
    assert refused.file in ("interact_messages.json", tmp_path.name)


def test_a_run_without_an_answer_is_incomplete(tmp_path):
    folder = copied("webvoyager", tmp_path) / "taskShop--find_price"
    path = folder / "interact_messages.json"
    messages: list[dict[str, Any]] = json.loads(path.read_text())
    path.write_text(json.dumps(messages[:-1]))
    [bundle] = runs(folder).values()
    assert bundle.run.outcome is Outcome.INCOMPLETE
