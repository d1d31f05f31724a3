"""Histories of browser-use: four generations, each as its truth says."""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory import formats
from tests.webagent.trajectory.formats import only, read, runs
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Problem
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import TextPart
from webagent.trajectory.redaction import REDACTED

DATA = formats.DATA / "browser_use"
TRUTH = formats.truth("browser_use")
WITHOUT_PICTURES = "loop"


@pytest.fixture(scope="module")
def bundles() -> dict[str, RunBundle]:
    with open_runs(DATA) as source:
        assert (source.formats, source.total) == (("browser_use",), len(TRUTH))
        found = [b for b in source if isinstance(b, RunBundle)]
    return {str(b.run.source.path).split("/")[0]: b for b in found}


@pytest.mark.parametrize("name", TRUTH)
def test_a_history_is_as_its_truth_says(bundles: dict[str, RunBundle], name: str) -> None:
    bundle, truth = bundles[name], TRUTH[name]
    run, steps = bundle.run, bundle.steps
    last_words: Any = (run.extra or {}).get("last_words", [])
    assert len(steps) + len(last_words) == truth["n_steps"]
    assert [[a.raw for a in s.actions] for s in steps if s.actions] == [
        a for a in truth["actions"] if a
    ]
    assert [s.thought for s in steps if s.actions] == (truth.get("thoughts") or truth["goals"])
    assert [_error(step) for step in steps] + last_words == truth["errors"]
    assert (run.end_reason == "agent_stopped") == truth["is_done"]
    assert (run.claimed_success, run.final_answer) == (
        truth["is_successful"],
        truth["final_result"],
    )
    verdicts = {"passed": True, "failed": False}
    judged = verdicts[bundle.evaluations[0].verdict] if bundle.evaluations else None
    assert judged == truth.get("judge_verdict")
    pictures = 0 if name == WITHOUT_PICTURES else truth["n_screenshots"]
    assert bundle.n_screenshots == pictures
    assert run.totals.seconds == pytest.approx(truth["duration_s"], abs=0.01)
    if "urls" in truth:
        assert [s.before.url for s in steps if s.before] == truth["urls"][: len(steps)]
    if "input_tokens" in truth:
        assert [s.llm_calls[0].input_tokens for s in steps] == truth["input_tokens"]
        assert run.totals.input_tokens == sum(truth["input_tokens"])


def test_the_agents_own_word_is_no_outcome(bundles: dict[str, RunBundle]) -> None:
    bundle = bundles["find_price"]
    assert (bundle.run.outcome, bundle.run.claimed_success) == ("unknown", True)
    (judge,) = bundle.evaluations
    assert (judge.evaluator.kind, judge.verdict) == ("self_judge", "passed")
    assert judge.rationale == "Compared the final answer with the last screenshot."
    assert judge.extra == {"details": {"impossible_task": False, "reached_captcha": False}}


def test_endings_are_told_apart(bundles: dict[str, RunBundle]) -> None:
    ends = {name: (b.run.outcome, b.run.end_reason) for name, b in bundles.items()}
    assert ends == {
        "error": ("error", "exception"),
        "find_price": ("unknown", "agent_stopped"),
        "loop": ("incomplete", "max_steps"),
        "v0148_find_price": ("unknown", "agent_stopped"),
    }
    error = bundles["error"].run.error
    assert error is not None
    assert error.origin == "model"
    assert bundles["error"].steps[-1].llm_calls[0].problem == error.message


def test_elements_are_drawn_where_they_were_clicked(bundles: dict[str, RunBundle]) -> None:
    (action,) = bundles["find_price"].steps[1].actions
    assert action.target is not None
    assert action.target.box is not None
    assert action.target.xpath == "html/body/main/div/div[1]/div/h3/a"
    assert action.point is not None
    assert (round(action.point.x), round(action.point.y)) == (232, 192)
    assert action.result_text == 'Clicked a "Copper Kettle"'


def test_a_history_without_its_folder_says_what_to_give(bundles: dict[str, RunBundle]) -> None:
    gaps = [gap for gap in bundles["loop"].run.gaps if gap.what == "screenshot"]
    assert [gap.where for gap in gaps] == ["step 0", "step 1: step_2.png … step 22: step_23.png"]
    assert [gap.count for gap in gaps] == [None, 22]
    assert "give the folder with the screenshots" in gaps[1].why
    assert len(only(DATA / "loop" / "history.json").steps) == 23


def test_old_generations_say_what_they_do_not_save(bundles: dict[str, RunBundle]) -> None:
    run = bundles["v0148_find_price"].run
    assert run.source.format_version == "0.1-0.2"
    assert {gap.what for gap in run.gaps} == {"task", "tokens"}
    assert bundles["v0148_find_price"].task.external_id == "v0148_find_price"
    first = bundles["v0148_find_price"].steps[0]
    assert first.before is not None
    assert first.before.screenshot is not None
    assert set(first.thought_parts or {}) == {"evaluation_previous_goal", "memory", "next_goal"}


def _by_path(history: list[dict[str, Any]]) -> None:
    """As 0.5 to 0.7.0 saved it: no prompt, no judge."""
    for item in history:
        item.pop("state_message")
        for result in item["result"]:
            result.pop("judgement", None)


def _embedded(history: list[dict[str, Any]]) -> None:
    """As 0.3 and 0.4 saved it: pictures in base64, thoughts flat."""
    old = json.loads((DATA / "v0148_find_price" / "AgentHistory.json").read_text())["history"]
    _by_path(history)
    for item, with_picture in zip(history, old, strict=True):
        item["state"].pop("screenshot_path")
        item["state"]["screenshot"] = with_picture["state"]["screenshot"]


@pytest.mark.parametrize(
    ("change", "generation", "pictures"), [(_embedded, "0.3-0.4", 3), (_by_path, "0.5-0.7", 2)]
)
def test_the_generations_between_are_read_too(
    tmp_path: Path, change: Callable[[Any], None], generation: str, pictures: int
) -> None:
    shutil.copytree(DATA / "find_price", tmp_path / "run")
    bundle = _changed(tmp_path / "run", change)
    assert bundle.run.source.format_version == generation
    assert bundle.n_screenshots == pictures
    assert [s.thought for s in bundle.steps] == TRUTH["find_price"]["thoughts"]
    assert "task" in {gap.what for gap in bundle.run.gaps}
    assert bundle.run.final_answer == "24.90"
    # No base64 in what is kept.
    assert all(len(bundle.read_blob(b.sha256)) < 30_000 for b in bundle.run.source.originals)


def test_flash_mode_usage_and_a_lost_result(tmp_path: Path) -> None:
    def change(history: list[dict[str, Any]]) -> None:
        output = history[1]["model_output"]
        history[1]["model_output"] = {"memory": "Shop open.", "action": output["action"] * 2}

    shutil.copytree(DATA / "find_price", tmp_path / "run")
    bundle = _changed(
        tmp_path / "run",
        change,
        usage={"total_prompt_tokens": 7, "total_completion_tokens": 2, "total_cost": 0.5},
    )
    assert bundle.steps[1].thought == "Shop open."
    assert [action.status for action in bundle.steps[1].actions] == ["ok", "unknown"]
    totals = bundle.run.totals
    assert (totals.input_tokens, totals.output_tokens, str(totals.cost)) == (7, 2, "0.5")
    assert "tokens" not in {gap.what for gap in bundle.run.gaps}


def test_a_typed_password_goes_everywhere_and_is_counted(tmp_path: Path) -> None:
    def change(history: list[dict[str, Any]]) -> None:
        item = history[1]
        item["model_output"]["action"] = [{"input": {"index": 3, "text": "hunter2-mine"}}]
        item["state"]["interacted_element"][0]["attributes"] = {"type": "password"}
        item["result"][0]["extracted_content"] = "Typed 'hunter2-mine'"
        history[2]["state_message"] += "\nhunter2-mine https://a.example/?token=abc"
        history[2]["state"]["url"] = "https://ada:pass-word@a.example/"

    shutil.copytree(DATA / "find_price", tmp_path / "run")
    bundle = _changed(tmp_path / "run", change)
    assert bundle.steps[1].actions[0].raw == {"input": {"index": 3, "text": REDACTED}}
    assert bundle.run.source.redacted == {"address": 2, "password": 3}
    kept = b"".join(bundle.read_blob(blob.sha256) for blob in bundle.blob_records())
    said = "".join(step.model_dump_json() for step in bundle.steps)
    for secret in ("hunter2-mine", "pass-word", "token=abc"):
        assert secret.encode() not in kept
        assert secret not in said


def test_pictures_of_two_runs_in_one_folder_are_not_guessed(tmp_path: Path) -> None:
    shutil.copytree(DATA / "find_price", tmp_path / "run")
    shutil.copy(tmp_path / "run" / "history.json", tmp_path / "run" / "other.json")
    assert [bundle.n_screenshots for bundle in runs(tmp_path).values()] == [0, 0]
    # With the tool's own folder above them, it is clear whose they are.
    item = json.loads((tmp_path / "run" / "history.json").read_text())["history"][1]
    own = tmp_path / "run" / item["state"]["screenshot_path"].split("/")[2]
    own.mkdir()
    (tmp_path / "run" / "screenshots").rename(own / "screenshots")
    assert [bundle.n_screenshots for bundle in runs(tmp_path).values()] == [2, 2]


@pytest.mark.parametrize(
    "document",
    [
        {"history": [{"model_output": 3, "result": "x", "state": None}]},
        {"history": [{"model_output": {"action": "go"}, "result": [None], "state": {"tabs": 1}}]},
        {
            "history": [{"state": {}, "result": [], "model_output": {"action": [{"a": 1}, {}, 5]}}]
            * 3
        },
    ],
)
def test_odd_histories_are_read_or_refused_and_never_raise(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    (tmp_path / "h.json").write_text(json.dumps(document))
    found = read(tmp_path)
    assert len([f for f in found if isinstance(f, RunBundle | Problem)]) == len(found) == 1


def _error(step: Any) -> str | None:
    of_actions = next((action.error for action in step.actions if action.error), None)
    return of_actions or next((call.problem for call in step.llm_calls if call.problem), None)


def _changed(folder: Path, change: Callable[[Any], None], **beside: Any) -> RunBundle:
    path = folder / "history.json"
    history = copy.deepcopy(json.loads(path.read_text())["history"])
    change(history)
    path.write_text(json.dumps({"history": history} | beside))
    return only(folder.parent)


def test_the_goal_is_what_the_user_asked(bundles: dict[str, RunBundle]) -> None:
    goals = {
        b.task.goal[0].text
        for b in bundles.values()
        if b.task.goal and isinstance(b.task.goal[0], TextPart)
    }
    assert goals == {TRUTH[name]["task"] for name in ("find_price", "error", "loop")}
