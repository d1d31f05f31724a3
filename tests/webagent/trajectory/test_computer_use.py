"""Message logs of computer use: both vendors, old and new spellings, cut and broken ones."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA, rejections, runs, stored_text, truth
from tests.webagent.trajectory.samples import png
from webagent.trajectory.computer_use.turns import read_conversation
from webagent.trajectory.records import EndReason, Outcome

SAMPLES = DATA / "computer_use"
TRUTH = truth("computer_use")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return runs(SAMPLES)


def spelled(action: Any) -> str:
    if action.dialect == "openai_computer":
        return json.dumps(action.raw)
    return f"{action.name} {json.dumps(action.named_args)}" if action.named_args else action.name


@pytest.mark.parametrize("name", TRUTH)
def test_each_dump_is_as_its_truth_says(found, name):
    true, bundle = TRUTH[name], found[name]
    actions = [action for step in bundle.steps for action in step.actions]
    assert [spelled(action) for action in actions] == true["actions"]
    assert len(bundle.steps) == true["n_tool_calls"]
    assert bundle.n_screenshots == true["n_screenshots"]
    assert bundle.run.final_answer == true["final_answer"]
    assert bundle.run.goal[0].text == true["task"]
    assert bundle.run.totals.input_tokens == true["input_tokens"]
    assert bundle.run.totals.output_tokens == true["output_tokens"]
    assert (bundle.run.outcome, bundle.run.end_reason) == (
        Outcome.UNKNOWN,
        EndReason.AGENT_STOPPED,
    )
    assert not bundle.problems


def test_the_same_words_are_the_same_task(found):
    names = [name for name in TRUTH if name.startswith("find_price")]
    assert len({found[name].task.external_id for name in names}) == 1


def test_a_batch_is_one_step_with_one_picture(found):
    step = found["checkout__openai_computer_batched.json"].steps[1]
    assert [action.name for action in step.actions] == ["click", "click"]
    assert step.actions[0].point.x == 362
    first = found["find_price__openai_computer_use_preview.json"].steps[1].actions[0]
    assert (first.coordinate_space.width, first.coordinate_space.height) == (1280, 720)


def tool_use(identity: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "computer", "input": given}


def image(content: bytes) -> dict[str, Any]:
    data = base64.b64encode(content).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def result(identity: str, *content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": list(content), **more}


def test_pictures_that_were_cut_away_or_cannot_be_shown_are_gaps(tmp_path):
    def file(identity: str) -> dict[str, Any]:
        return result(identity, {"type": "image", "source": {"type": "file", "file_id": "f"}})

    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [tool_use("a", action="screenshot")]},
        {"role": "user", "content": [result("a", {"type": "text", "text": "cut"})]},
        {"role": "assistant", "content": [tool_use("b", action="wait", duration=1)]},
        {"role": "user", "content": [file("b"), {"type": "text", "text": "And now?"}]},
        {"role": "assistant", "content": [tool_use("c", action="key", text="a")]},
        {"role": "user", "content": [result("c", image(b"<svg/>"))]},
        {"role": "assistant", "content": [tool_use("d", action="key", text="b")]},
        {"role": "user", "content": [result("d", image(png()), is_error=True)]},
    ]
    (tmp_path / "dump.json").write_text(json.dumps(messages))
    [bundle] = runs(tmp_path).values()
    assert len(bundle.steps) == 4
    assert bundle.steps[2].events[0]["text"] == "And now?"
    assert bundle.steps[3].actions[0].status == "error"
    assert bundle.steps[3].after.screenshot is not None
    reasons = " ".join(gap.why for gap in bundle.run.gaps)
    assert "at the vendor" in reasons
    assert "not a readable picture" in reasons
    assert "3 of 4 turns have none" in reasons
    assert (bundle.run.final_answer, bundle.run.end_reason) == (None, EndReason.UNKNOWN)


def test_whole_responses_a_line_each(tmp_path):
    usage = {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    call = {"type": "computer_call", "call_id": "a", "action": {"type": "click", "x": 1, "y": 2}}
    say = {"type": "message", "role": "assistant", "content": [{"text": "Done."}]}
    lines = [
        {"object": "response", "model": "m", "output": [call], "usage": usage},
        {"object": "response", "model": "m", "output": [say], "usage": usage},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "log.jsonl").write_text(text + '\n{"object": "resp')
    [bundle] = runs(tmp_path).values()
    assert [action.name for action in bundle.steps[0].actions] == ["click"]
    assert bundle.run.final_answer == "Done."
    assert (bundle.run.totals.input_tokens, bundle.run.totals.cached_tokens) == (20, 8)
    assert any(gap.what == "line" for gap in bundle.run.gaps)


def test_a_chat_without_a_computer_is_none_of_ours(tmp_path):
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    [refused] = rejections(tmp_path)
    assert refused.field == "format"


def test_hashes_in_a_file_name_nothing_outside_it(tmp_path):
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [tool_use("a", action="screenshot")]},
        {"role": "user", "content": [result("a", {"type": "image", "source": {
            "type": "base64", "data": {"$blob": "0" * 64}}})]},
    ]  # fmt: skip
    (tmp_path / "dump.json").write_text(json.dumps(messages))
    [bundle] = runs(tmp_path).values()
    assert bundle.n_screenshots == 0


def test_keys_of_providers_are_taken_out(tmp_path):
    key = "sk-" + "a1B2" * 8
    typed = tool_use("a", action="type", text=f"export KEY={key}")
    messages = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [typed]}]
    (tmp_path / "dump.json").write_text(json.dumps({"messages": messages, "api_key": key}))
    [bundle] = runs(tmp_path).values()
    assert key not in stored_text(bundle)
    assert bundle.run.source.redacted == {"key": bundle.run.source.redacted["key"]}


@pytest.mark.parametrize(
    "messages",
    [
        [{"type": "computer_call", "call_id": 3, "actions": [None, 4, {"type": None}]}],
        [{"role": "assistant", "content": [3, None, {"type": "tool_use", "input": []}]}],
        [{"role": "user"}, {"type": "computer_call_output", "output": [[], None]}],
        [None, 3, "x", {"output": [{"type": "computer_call", "action": {"path": [3]}}]}],
    ],
)
def test_odd_shapes_never_raise(messages):
    talk = read_conversation(messages)
    assert all(len(c.raw) == len(c.names) for turn in talk.turns for c in turn.calls)
