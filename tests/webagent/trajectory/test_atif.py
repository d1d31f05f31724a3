"""ATIF in and out."""

import hashlib
import json
import zipfile
from dataclasses import replace
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA, copied, read, rejections, runs, truth
from tests.webagent.trajectory.samples import png, run_bundle
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.atif.writer import write_atif
from webagent.trajectory.formats.native.schema import Blinding
from webagent.trajectory.intake import NO_NUMBER, NO_TIME, NOT_HELD
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import EndReason, Gap, Outcome

SAMPLES = DATA / "atif"
TRUTH = truth("atif")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return runs(SAMPLES)


@pytest.mark.parametrize("name", TRUTH)
def test_each_document_is_as_its_truth_says(found, name):
    true, bundle = TRUTH[name], found[name]
    actions = [action for step in bundle.steps for action in step.actions]
    assert len(bundle.steps) == true["n_agent_steps"]
    assert bundle.n_screenshots == true["n_screenshots"]
    assert [[action.name, action.named_args] for action in actions] == true["tool_calls"]
    assert [action.raw for action in actions] == true["raw_actions"]
    assert sum(action.status == "error" for action in actions) == true["n_error_results"]
    assert bundle.run.totals.input_tokens == true["prompt_tokens"]
    assert bundle.run.totals.output_tokens == true["completion_tokens"]
    assert float(bundle.run.totals.cost) == true["cost"]
    assert bundle.run.reward == true["cum_reward"]
    assert not bundle.problems


def test_a_result_is_what_comes_after_its_turn(found):
    first, second, *_ = found["find_price"].steps
    assert first.before.url.endswith("/index.html")
    assert first.after is None
    assert second.before.url.endswith("/product-kettle.html")
    assert second.before.screenshot != first.before.screenshot
    assert found["find_price"].steps[-1].after.screenshot is not None


def test_what_converters_put_into_extra_is_read(found):
    run = found["find_price"].run
    assert (run.outcome, run.end_reason) == (Outcome.SUCCESS, EndReason.TASK_ENDED)
    assert (run.final_answer, run.seed) == ("24.90", 0)
    assert found["bad_bid"].run.end_reason is EndReason.MAX_STEPS
    assert found["bad_bid"].steps[0].actions[0].error.startswith("Error: ValueError")


def test_an_error_that_a_converter_told_is_no_failure(tmp_path):
    folder = copied("atif", tmp_path) / "multi"
    value = json.loads((folder / "trajectory.json").read_text())
    value["extra"] |= {"err_msg": "boom", "cum_reward": 0.0, "terminated": True}
    (folder / "trajectory.json").write_text(json.dumps(value))
    [bundle] = runs(folder).values()
    assert (bundle.run.outcome, bundle.run.end_reason) == (Outcome.ERROR, EndReason.EXCEPTION)
    assert bundle.run.error.message == "boom"


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("final_metrics", "total_prompt_tokens", -5), ("extra", "cum_reward", "one")],
)
def test_a_number_that_cannot_be_kept_is_a_gap_with_its_field(tmp_path, part, name, value):
    folder = copied("atif", tmp_path) / "find_price"
    document = json.loads((folder / "trajectory.json").read_text())
    document[part][name] = value
    (folder / "trajectory.json").write_text(json.dumps(document))
    [bundle] = runs(folder).values()
    assert bundle.run.gaps == (Gap(what="value", where=f"{name}: {value!r}", why=NO_NUMBER),)


@pytest.mark.parametrize("written", ["2025-01-01T10:00:00", "0001-01-01T00:00:00Z", "noon"])
def test_a_time_that_cannot_be_kept_is_a_gap(tmp_path, written):
    folder = copied("atif", tmp_path) / "find_price"
    document = json.loads((folder / "trajectory.json").read_text())
    document["steps"][-1]["timestamp"] = written
    (folder / "trajectory.json").write_text(json.dumps(document))
    [bundle] = runs(folder).values()
    assert bundle.run.gaps == (Gap(what="time", where=repr(written), why=NO_TIME),)


def test_what_goes_out_comes_back_with_the_same_hash(tmp_path):
    given = [run_bundle(number) for number in (1, 2)]
    assert write_atif(tmp_path / "runs", given) == 2
    back = runs(tmp_path / "runs")
    for bundle in given:
        again = back[bundle.run.id]
        assert again.content_hash == bundle.content_hash
        assert again.task == bundle.task
        assert again.steps == bundle.steps
        assert again.evaluations == bundle.evaluations
        assert again.labels == bundle.labels
        assert again.adjudications == bundle.adjudications
        assert again.hints == bundle.hints
        for blob in bundle.blob_records():
            assert again.read_blob(blob.sha256) == bundle.read_blob(blob.sha256)
        assert not again.problems
    for name in ("one.zip", "two.zip"):
        write_atif(tmp_path / name, given)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert runs(tmp_path / "one.zip").keys() == back.keys()


KNOWN = {
    "": {
        *("schema_version", "session_id", "trajectory_id", "agent", "steps", "notes"),
        *("final_metrics", "extra"),
    },
    "agent": {"name", "version", "model_name", "tool_definitions", "extra"},
    "step": {
        *("step_id", "timestamp", "source", "model_name", "message", "reasoning_content"),
        *("tool_calls", "observation", "metrics", "extra"),
    },
    "call": {"tool_call_id", "function_name", "arguments"},
    "metrics": {"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"},
}


def test_what_goes_out_has_no_key_that_the_format_forbids(found, tmp_path):
    write_atif(tmp_path / "out", [run_bundle(1), found["bad_bid"], found["multi"]])
    documents = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*/*.json")]
    assert len(documents) == 3
    for value in documents:
        assert value.keys() <= KNOWN[""]
        assert value["agent"].keys() <= KNOWN["agent"]
        assert [step["step_id"] for step in value["steps"]] == [*range(1, len(value["steps"]) + 1)]
        for step in value["steps"]:
            assert step.keys() <= KNOWN["step"]
            assert step.get("metrics", {}).keys() <= KNOWN["metrics"]
            calls = step.get("tool_calls", [])
            assert all(call.keys() == KNOWN["call"] for call in calls)
            ids = {call["tool_call_id"] for call in calls}
            for result in step.get("observation", {}).get("results", []):
                assert result.get("source_call_id", None) in ids | {None}


def test_a_foreign_reader_finds_words_actions_and_pictures(found, tmp_path):
    write_atif(tmp_path / "out", [found["bad_bid"]])
    [path] = (tmp_path / "out").glob("*/trajectory.json")
    value = json.loads(path.read_text())
    del value["extra"]["crosscheck"]  # as another tool would leave it
    path.write_text(json.dumps(value))
    [again] = runs(tmp_path / "out").values()
    before = found["bad_bid"]
    assert [s.thought for s in again.steps] == [s.thought for s in before.steps]
    assert again.n_screenshots == before.n_screenshots
    assert [s.actions[0].status for s in again.steps] == [s.actions[0].status for s in before.steps]
    assert again.run.reward == before.run.reward


def test_a_blind_export_gives_nothing_away(tmp_path):
    write_atif(tmp_path / "runs.zip", [run_bundle(1)], blinding=Blinding(hide_agent=True))
    with zipfile.ZipFile(tmp_path / "runs.zip") as archive:
        [name] = [name for name in archive.namelist() if name.endswith("trajectory.json")]
        value = json.loads(archive.read(name))
    assert value["agent"] == {"name": "hidden", "version": "unknown"}
    assert value["extra"].keys() & {"cum_reward", "err_msg"} == set()
    assert value["extra"]["outcome"] == "unknown"
    assert value["extra"]["crosscheck"]["evaluations"] == []


def test_pictures_outside_the_document_s_folder_are_not_taken(tmp_path):
    folder = copied("atif", tmp_path) / "multi"
    path = folder / "trajectory.json"
    value = json.loads(path.read_text())
    paths = ["../find_price/images/000.png", "/etc/passwd", "http://s/a.png", "images/none.png"]
    value["steps"][0]["message"] = [{"type": "text", "text": "Go"}] + [
        {"type": "image", "source": {"path": outside}} for outside in paths
    ]
    path.write_text(json.dumps(value))
    [bundle] = runs(folder).values()
    assert [gap.why for gap in bundle.run.gaps] == ["not in the document's folder"] * 4


def test_pictures_beside_a_document_at_the_top_are_its_own():
    with open_runs(SAMPLES / "find_price") as source:
        assert source.unread == ()


def test_turns_of_users_systems_and_earlier_runs_are_no_steps(tmp_path):
    turns = [
        {"step_id": 1, "source": "system", "message": "Be good."},
        {"step_id": 2, "source": "user", "message": "Do it."},
        {"step_id": 3, "source": "agent", "message": "old", "is_copied_context": True},
        {
            "step_id": 4,
            "source": "agent",
            "message": "thinking",
            "tool_calls": [
                {"tool_call_id": "a", "function_name": "click", "arguments": {"x": 3, "y": 4}},
                {"tool_call_id": "b", "function_name": "wait", "arguments": {}},
            ],
        },
        {"step_id": 5, "source": "user", "message": "Really?"},
        {"step_id": 6, "source": "agent", "message": "It is done."},
    ]
    value = {"schema_version": "ATIF-v1.2", "agent": {"name": "a"}, "steps": turns}
    (tmp_path / "t.json").write_text(json.dumps(value))
    [bundle] = runs(tmp_path / "t.json").values()
    acting, answering = bundle.steps
    assert [action.name for action in acting.actions] == ["click", "wait"]
    assert (acting.actions[0].point.x, acting.source_index) == (3, 4)
    assert answering.events[0]["text"] == "Really?"
    assert bundle.run.final_answer == "It is done."
    assert bundle.run.outcome is Outcome.UNKNOWN
    assert "".join(part.text for part in bundle.task.goal) == "Do it."
    assert [gap.what for gap in bundle.run.source.dropped] == ["step"]


@pytest.mark.parametrize("source", ["assistant", "Agent", 5, None])
def test_a_turn_of_a_source_that_nobody_knows_is_a_gap_and_its_words_stay(tmp_path, source):
    folder = copied("atif", tmp_path) / "find_price"
    value = json.loads((folder / "trajectory.json").read_text())
    value["steps"][2]["source"] = source
    (folder / "trajectory.json").write_text(json.dumps(value))
    [bundle] = runs(folder).values()
    assert len(bundle.steps) == 2
    assert bundle.steps[1].events[0]["text"] == "Check the price, scroll to be sure."
    gap = Gap(what="step", where="steps.2.source", why="neither agent, user nor system")
    assert gap in bundle.run.gaps


def test_what_stands_where_no_step_is_made_of_it_is_a_gap(tmp_path):
    turns = [
        {"source": "user", "message": "Do it.", "tool_calls": [{"function_name": "click"}]},
        {"source": "agent", "tool_calls": {"function_name": "click"}, "observation": "seen"},
        {"source": "agent", "tool_calls": [{"function_name": "click", "arguments": "{}"}]},
        {"source": "system", "message": "Stop.", "observation": {"results": [{"content": "x"}]}},
    ]
    value = {"schema_version": "ATIF-v1.8", "agent": {"name": "a"}, "steps": turns}
    (tmp_path / "t.json").write_text(json.dumps(value))
    [bundle] = runs(tmp_path).values()
    assert bundle.steps[1].actions[0].raw == {"function_name": "click", "arguments": "{}"}
    assert {(gap.what, gap.where): gap.why for gap in bundle.run.gaps} == {
        ("step", "steps.0"): "tool_calls of a turn that is not the agent's",
        ("action", "steps.1.tool_calls"): "no list",
        ("observation", "steps.1.observation"): "no list",
        ("step", "steps.3"): "observation of a turn that is not the agent's",
        ("message", "steps"): "no step follows them",
    }


def pictured(*names: str) -> list[dict[str, Any]]:
    return [{"type": "image", "source": {"path": f"images/{name}.png"}} for name in names]


def test_nothing_that_a_turn_says_or_shows_is_lost(tmp_path):
    (tmp_path / "images").mkdir()
    for shade in range(6):
        (tmp_path / "images" / f"{shade}.png").write_bytes(png(shade=shade))
    goal, failed = ({"type": "text", "text": words} for words in ("Do it.", "Error: no"))
    hear = {"type": "audio", "source": {"path": "audio/a.wav"}}
    told = {"completion_token_ids": [1], "logprobs": [0.5], "extra": {"m": 1}}
    metrics = {"prompt_tokens": 9, "cached_tokens": 4, "cost_usd": 0.5}
    asked: dict[str, Any] = {
        "source": "agent",
        "timestamp": "2026-11-23T01:02:03Z",
        "message": [{"type": "text", "text": "Now"}, *pictured("2")],
        "reasoning_content": "hm",
        "reasoning_effort": "high",
        "llm_call_count": 2,
        "tool_calls": [
            {"tool_call_id": "a", "function_name": "tap", "arguments": {"coordinate": [3, 4]},
             "extra": {"c": 1}}
        ],
        "observation": {"results": [
            {"source_call_id": "a", "content": [failed, *pictured("3", "4")], "extra": {"r": 1}},
            {"content": "aside"},
        ]},
        "metrics": metrics | told,
        "extra": {"own": True},
    }  # fmt: skip
    steps = [
        {"source": "user", "message": [goal, *pictured("0", "1"), hear]},
        asked,
        {"source": "user", "message": pictured("5", "0")},
        {"source": "agent", "message": "Done."},
    ]  # fmt: skip
    value = {
        "schema_version": "ATIF-v1.8",
        "session_id": "s",
        "agent": {"name": "a", "version": "2", "model_name": "m", "tool_definitions": [{"t": 1}]},
        "steps": steps,
        "final_metrics": {"total_prompt_tokens": 9, "total_cached_tokens": 4, "extra": {"f": 1}},
        "notes": "a note",
        "continued_trajectory_ref": "next.json",
        "subagent_trajectories": [{}, {}],
    }
    (tmp_path / "t.json").write_text(json.dumps(value))
    [bundle] = runs(tmp_path).values()
    first, last = bundle.steps
    whole = {hashlib.sha256(png(shade=shade)).hexdigest(): shade for shade in range(6)}
    seen = [first.before.screenshot, *first.messages, last.before.screenshot]
    assert [whole[picture.sha256] for picture in seen] == [1, 2, 3, 0]
    assert whole[bundle.run.goal[1].blob.sha256] == 0
    assert first.thought_parts == {"reasoning": "hm", "message": "Now"}
    [action] = first.actions
    assert (action.status, action.error, action.point.x) == ("error", "Error: no", 3)
    assert first.extra == {
        "own": True,
        "calls": {"a": {"c": 1}},
        "result_notes": [{"r": 1}],
        "results": ["aside"],
        "reasoning_effort": "high",
        "llm_call_count": 2,
        "metrics": {"m": 1},
    }
    assert first.llm_calls[0].model == "m"
    assert first.started_at.isoformat() == "2026-11-23T01:02:03+00:00"
    run = bundle.run
    assert (run.totals.input_tokens, run.totals.cached_tokens) == (9, 4)
    assert (run.agent.version, run.agent.config) == ("2", {"tool_definitions": [{"t": 1}]})
    assert run.extra == {"session_id": "s", "notes": "a note", "final_metrics": {"f": 1}}
    # The user's picture stands in the place of the result's, and its turn has two.
    lost = [
        ("images/4.png", NOT_HELD),
        ("steps.2: images/5.png", "not the last picture of its turn"),
    ]
    assert [(gap.where, gap.why) for gap in run.gaps if gap.what == "screenshot"] == lost
    assert {gap.what for gap in run.gaps} == {"message", "screenshot", "subagent", "step"}
    [kept] = run.source.originals
    assert json.loads(bundle.read_blob(kept.sha256)) == value  # token ids and all


@pytest.mark.parametrize(
    "name",
    ["computer_use", "inspect_ai", "playwright_trace", "webarena_native", "webarena_verified"],
)
def test_runs_of_other_formats_come_back_as_they_were(tmp_path, name):
    given = list(runs(DATA / name).values())[:2]
    write_atif(tmp_path / "out", given)
    back = runs(tmp_path / "out")
    assert {b.content_hash for b in back.values()} == {b.content_hash for b in given}


def test_cached_tokens_go_out_as_part_of_the_prompt(tmp_path):
    dumped = runs(DATA / "computer_use" / "find_price__anthropic_20250124.json")
    write_atif(tmp_path / "out", dumped.values())
    [path] = (tmp_path / "out").glob("*/trajectory.json")
    value = json.loads(path.read_text())
    metrics = value["steps"][1]["metrics"]
    assert (metrics["prompt_tokens"], metrics["cached_tokens"]) == (2500, 1000)
    totals = value["final_metrics"]
    assert (totals["total_prompt_tokens"], totals["total_cached_tokens"]) == (8100, 3000)


def test_our_own_records_are_checked_like_all_others(tmp_path):
    write_atif(tmp_path / "out", [run_bundle(1)])
    [path] = (tmp_path / "out").glob("*/trajectory.json")
    value = json.loads(path.read_text())
    value["extra"]["crosscheck"]["run"]["trial"] = "many"
    path.write_text(json.dumps(value))
    [bundle] = runs(tmp_path / "out").values()  # read as another tool's document
    assert any(gap.where == "extra.crosscheck" for gap in bundle.run.gaps)
    for image in (path.parent / "images").iterdir():
        image.write_bytes(b"<svg onload=alert(1)>")
    assert not [item for item in runs(tmp_path / "out").values() if item.n_screenshots]


def test_a_broken_document_costs_its_own_run_only(tmp_path):
    folder = copied("atif", tmp_path)
    (folder / "multi" / "trajectory.json").write_text('{"schema_version": "ATIF-v1.8", "steps": 3')
    [rejection] = rejections(folder)
    assert rejection.file == "multi/trajectory.json"
    assert sum(isinstance(item, RunBundle) for item in read(folder)) == 2


def test_folders_of_runs_with_odd_ids_stay_apart(tmp_path):
    odd = [
        replace(bundle, run=bundle.run.model_copy(update={"id": run_id}), steps=(), evaluations=(),
                labels=(), adjudications=())
        for bundle, run_id in zip([run_bundle(1)] * 3, ["a/b", "a b", "../.."], strict=True)
    ]  # fmt: skip
    write_atif(tmp_path / "out", odd)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_", "a_b", "a_b-2"]
