"""Message logs of computer use: both vendors, old and new spellings, cut and broken ones."""

import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.webagent.trajectory.formats import DATA, rejections, runs, stored_text, truth
from tests.webagent.trajectory.samples import png
from webagent.trajectory.formats.computer_use.turns import read_conversation
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
    cached = bundle.run.totals.cached_tokens if "anthropic" in true["style"] else None
    assert bundle.run.totals.input_tokens == true["input_tokens"] + (cached or 0)
    assert bundle.run.totals.output_tokens == true["output_tokens"]
    assert (bundle.run.outcome, bundle.run.end_reason) == (Outcome.UNKNOWN, EndReason.AGENT_STOPPED)
    assert not bundle.problems


def test_model_tools_and_system_are_the_agent_s(found):
    run = found["find_price__anthropic_20250124.json"].run
    assert run.models == ("stub-model",)
    assert run.agent.config["system"] == "stub system prompt"
    assert run.agent.config["tools"][0]["type"] == "computer_20250124"
    assert run.environment.viewport_width == 1280


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
        {"role": "assistant", "content": [tool_use("z", action="screenshot")]},
        {"role": "user", "content": [result("z", image(png()))]},
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
    assert [bool(step.before) for step in bundle.steps] == [False, True, False, False, False]
    assert bundle.steps[3].events[0]["text"] == "And now?"
    assert bundle.steps[4].actions[0].status == "error"
    assert bundle.steps[4].after.screenshot is not None
    reasons = " ".join(gap.why for gap in bundle.run.gaps)
    assert "at the vendor" in reasons
    assert "not a readable picture" in reasons
    assert "3 of 5 turns have none" in reasons
    assert (bundle.run.final_answer, bundle.run.end_reason) == (None, EndReason.UNKNOWN)


def dumped(folder: Path, value: Any) -> Any:
    (folder / "dump.json").write_text(json.dumps(value))
    [bundle] = runs(folder / "dump.json").values()
    return bundle


def test_what_cannot_be_shown_is_told_in_both_vendors_words(tmp_path):
    seen: list[dict[str, Any]] = [{"image_url": "https://vendor/a.png"}, {"file_id": "f"}, {}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go"}]
    for n, shown in enumerate(seen):
        call = {"type": "computer_call", "call_id": str(n), "action": {"type": "wait"}}
        output = {"type": "computer_screenshot", **shown}
        messages += [call, {"type": "computer_call_output", "call_id": str(n), "output": output}]
    openai = dumped(tmp_path, messages)
    why = [gap.why for gap in openai.run.gaps]
    linked, filed, neither, _ = why
    assert "links are not fetched" in linked
    assert "at the vendor" in filed
    assert "not a readable picture" in neither
    source = {"type": "url", "url": "https://vendor/a.png"}
    messages = [
        {"role": "assistant", "content": [tool_use("a", action="wait")]},
        {"role": "user", "content": [result("a", {"type": "image", "source": source})]},
    ]
    assert dumped(tmp_path, messages).run.gaps[0].why == linked


def test_each_vendor_s_cached_tokens_are_part_of_the_input(tmp_path):
    usage = {
        "input_tokens": 10,
        "output_tokens": 2,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 1000,
    }
    answer = {"role": "assistant", "content": [tool_use("a", action="wait")], "usage": usage}
    (tmp_path / "log.jsonl").write_text("\n".join(json.dumps(answer) for _ in range(2)))
    [bundle] = runs(tmp_path / "log.jsonl").values()
    call = bundle.steps[0].llm_calls[0]
    assert (call.input_tokens, call.cached_tokens, call.cache_write_tokens) == (1110, 100, 1000)
    assert bundle.steps[0].metrics == {"usage": usage}
    assert (bundle.run.totals.input_tokens, bundle.run.totals.cached_tokens) == (2220, 200)
    other = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}}
    waiting = {"type": "computer_call", "call_id": "a", "action": {"type": "wait"}}
    totals = dumped(tmp_path, {"input": "Go", "output": [waiting], "usage": other}).run.totals
    assert (totals.input_tokens, totals.cached_tokens) == (10, 4)


def test_tools_of_a_toolset_are_the_actions_themselves(tmp_path):
    def use(identity: str, name: str, toolset: str, **given: Any) -> dict[str, Any]:
        return {**tool_use(identity, **given), "name": name, "toolset_name": toolset}

    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [
            use("a", "navigate", "browser", url="http://s/"),
            use("b", "form_input", "browser", action="x", reference="ref_3"),
            use("c", "left_click_drag", "computer", start_coordinate=[1, 2], coordinate=[8, 9]),
        ]},
    ]  # fmt: skip
    navigate, form, drag = dumped(tmp_path, messages).steps[0].actions
    assert (navigate.name, navigate.named_args) == ("navigate", {"url": "http://s/"})
    assert (form.name, form.named_args) == ("form_input", {"action": "x", "reference": "ref_3"})
    assert (drag.raw["toolset_name"], drag.point.x, drag.point.y) == ("computer", 1, 2)


def test_all_that_is_thought_said_called_and_checked_is_kept(tmp_path):
    thinking = [
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": "Now."},
        tool_use("a", action="key", text="Return"),
    ]
    step = dumped(tmp_path, [{"role": "assistant", "content": thinking}]).steps[0]
    assert (step.thought, step.thought_parts) == (
        "hm\n\nNow.",
        {"reasoning": "hm", "message": "Now."},
    )
    check = {"id": "s", "code": "malicious_instructions", "message": "Careful"}
    items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "f", "name": "goto", "arguments": '{"url": "u"}'},
        {"type": "computer_call", "call_id": "a", "action": {"type": "drag", "path": [
            {"x": 3, "y": 4}, {"x": 9, "y": 9}]}, "pending_safety_checks": [check]},
        {"type": "function_call_output", "call_id": "f", "output": "there"},
        {"type": "computer_call_output", "call_id": "a", "output": {},
         "acknowledged_safety_checks": [check]},
    ]  # fmt: skip
    bundle = dumped(tmp_path, {"input": "Go", "output": items})
    [step] = bundle.steps
    assert bundle.run.goal[0].text == "Go"
    goto, drag = step.actions
    assert (goto.name, goto.named_args, goto.result_text) == ("goto", {"url": "u"}, "there")
    assert (drag.name, drag.point.x, step.thought) == ("drag", 3, "hm")
    assert step.extra == {"pending_safety_checks": [check], "acknowledged_safety_checks": [check]}


def test_calls_side_by_side_keep_all_their_pictures(tmp_path):
    calls = [tool_use("a", action="wait"), tool_use("b", action="zoom")]
    results = [result("a", image(png(9, 9))), result("b", image(png(8, 8)))]
    sent = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    came = [{"role": "assistant", "content": [tool_use("c", action="wait")]}]
    both, last = dumped(tmp_path, {"input": sent, "output": came}).steps
    assert [action.name for action in both.actions] == ["wait", "zoom"]
    assert [picture.width for picture in both.messages] == [9]
    assert last.before.screenshot.width == 8


def test_points_are_in_the_declared_display_and_pictures_stand_where_they_were_seen(tmp_path):
    tool = {"type": "computer_20250124", "display_width_px": 80, "display_height_px": 40}
    messages = [
        {"role": "assistant", "content": [tool_use("a", action="screenshot")]},
        {"role": "user", "content": [result("a", image(png(40, 20)))]},
        {"role": "assistant", "content": [tool_use("b", action="left_click", coordinate=[60, 30])]},
    ]
    bundle = dumped(tmp_path, {"tools": [tool], "messages": messages})
    first, click = bundle.steps
    assert (first.before, first.after) == (None, None)
    assert click.before.screenshot.width == 40  # what the first action showed
    space = click.actions[0].coordinate_space
    assert (space.width, space.height, click.actions[0].point.x) == (80, 40, 60)


def test_a_computer_behind_a_large_picture_is_found(tmp_path):
    noise = Image.frombytes("RGB", (400, 200), random.Random(7).randbytes(240_000))
    noise.save(out := io.BytesIO(), "PNG")
    messages = [
        {"role": "user", "content": [image(out.getvalue()), {"type": "text", "text": "Go"}]},
        {"role": "assistant", "content": [tool_use("a", action="screenshot")]},
    ]
    bundle = dumped(tmp_path, messages)
    assert [type(part).__name__ for part in bundle.run.goal] == ["TextPart", "BlobPart"]


def test_whole_responses_a_line_each(tmp_path):
    usage = {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    call = {"type": "computer_call", "call_id": "a", "action": {"type": "click", "x": 1, "y": 2}}
    say = {"type": "message", "role": "assistant", "content": [{"text": "Done."}]}
    lines = [
        {"object": "response", "model": "m", "output": [call], "usage": usage},
        {"object": "response", "model": "m", "output": [say], "usage": usage},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "log.jsonl").write_text(text.replace("\n", '\n{"object": "resp\n'))
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
        [{"type": ["computer_call"]}, {"role": "user", "type": {}}],
    ],
)
def test_odd_shapes_never_raise(messages):
    talk = read_conversation(messages)
    assert all(call.actions for turn in talk.turns for call in turn.calls)
