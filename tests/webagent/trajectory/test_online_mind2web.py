"""Online-Mind2Web: both versions as their truth says, every difference in number told."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory import formats
from tests.webagent.trajectory.formats import only, read
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.online_mind2web.steps import action_records, read_action
from webagent.trajectory.intake import Problem, Rejection
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import Point
from webagent.trajectory.redaction import REDACTED

DATA = formats.DATA / "online_mind2web"
TRUTH = formats.truth("online_mind2web")
LABELS = {"failure": 0, "success": 1, "not_executable": 2}
WITHOUT_PICTURES = "v1/67adb7e709ae943a4ab7974a4faf272e"
UNEVEN = "v1/9bc273eec1046d94e07c58307391dd57"
SECOND = "v2/9bc273eec1046d94e07c58307391dd57"


def by_place(folder: Path, **answers: str) -> dict[str, RunBundle]:
    found = formats.runs(folder, None, **answers).values()
    return {str(b.run.source.path).removesuffix("/result.json"): b for b in found}


@pytest.fixture(scope="module")
def bundles() -> dict[str, RunBundle]:
    return by_place(DATA, om2w_labels="official")


@pytest.mark.parametrize("place", TRUTH)
def test_a_submission_is_as_its_truth_says(bundles: dict[str, RunBundle], place: str) -> None:
    bundle, truth = bundles[place], TRUTH[place]
    actions = ["".join(str(a.raw) for a in step.actions) for step in bundle.steps if step.actions]
    assert actions == truth["actions"]
    assert sum(step.thought is not None for step in bundle.steps) == truth["n_thoughts"]
    assert bundle.n_screenshots == (0 if place == WITHOUT_PICTURES else truth["n_screenshots"])
    assert (bundle.run.final_answer or "") == truth["final_answer"]
    assert bundle.task.goal[0].model_dump()["text"] == truth["task"]
    (label,) = bundle.labels
    assert LABELS[label.success] == truth["human_label"]
    assert [verdict.verdict for verdict in bundle.adjudications] == [label.success]
    assert bundle.run.agent.name == "ScriptedAgent"


@pytest.mark.parametrize(
    ("content", "field", "reason"),
    [
        ('{"thoughts": [], "task_id": "a", "action_history": ["go', "JSON", "line 1 column 53"),
        ('{"thoughts": [], "task_id": "a", "action_history": "go"}', "action_history", "no list"),
        ('{"thoughts": [], "task_id": 7, "action_history": []}', "task_id", "no text"),
    ],
)
def test_of_many_results_a_broken_one_is_told_with_its_field_and_place(
    tmp_path: Path, content: str, field: str, reason: str
) -> None:
    whole = '{"thoughts": [], "task_id": "b", "action_history": ["go"]}'
    for name, words in (("a", content), ("b", whole)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(words)
    refused, taken = read(tmp_path)
    assert isinstance(refused, Rejection)
    assert isinstance(taken, RunBundle)
    assert (refused.file, refused.field) == ("a/result.json", field)
    assert reason in refused.reason


@pytest.mark.parametrize("damage", [None, "", "[", "[1, 2]", '{"id": "yes"}', "null"])
def test_labels_that_cannot_be_read_are_told(tmp_path: Path, damage: str | None) -> None:
    shutil.copytree(DATA / "v2", tmp_path / "v2")
    whole = (DATA / "human_label.json").read_text()
    cut = whole.rstrip().removesuffix("]")
    (tmp_path / "human_label.json").write_text(cut if damage is None else damage)
    told, *runs = read(tmp_path)
    assert isinstance(told, Problem)
    assert (told.file, told.field) == ("human_label.json", "JSON")
    assert runs
    assert all(isinstance(run, RunBundle) and not run.labels for run in runs)


def test_lists_are_paired_by_number_and_their_difference_is_told(
    bundles: dict[str, RunBundle],
) -> None:
    bundle = bundles[UNEVEN]
    (gap,) = bundle.run.gaps
    assert (gap.what, gap.why) == (
        "counts",
        "2 actions, 3 thoughts and 4 pictures: paired by number",
    )
    assert [len(step.actions) for step in bundle.steps] == [1, 1, 0, 0]
    assert bundle.steps[2].thought == "The page says $24.90."
    names = [s.before.screenshot.name for s in bundle.steps if s.before and s.before.screenshot]
    assert names == [f"trajectory/{n}_full_screenshot.png" for n in range(4)]


def test_one_picture_more_than_actions_is_what_the_last_led_to(
    bundles: dict[str, RunBundle],
) -> None:
    steps = bundles["v1/eb035f7728a4fdc6a7598680e3dc776e"].steps
    assert len(steps) == 2
    assert steps[-1].after is not None
    assert steps[-1].after.screenshot is not None
    assert steps[-1].after.screenshot.name == "trajectory/2_full_screenshot.png"


def test_the_second_version_names_pictures_states_and_addresses(
    bundles: dict[str, RunBundle],
) -> None:
    bundle = bundles[SECOND]
    assert bundle.run.source.format_version == "online-mind2web-v2"
    assert bundle.task.reference_length == 3
    assert [step.actions[0].status for step in bundle.steps] == ["ok", "ok", "ok", "unknown"]
    assert bundle.steps[-1].actions[0].name == "task_complete"
    assert bundle.run.end_reason == "agent_stopped"
    assert bundle.run.final_url == "http://127.0.0.1:8951/product-kettle.html"
    assert bundle.run.gaps == ()


def test_pictures_are_found_by_name_and_number_and_missing_ones_told(tmp_path: Path) -> None:
    for place in (UNEVEN, SECOND):
        shutil.copytree(DATA / place, tmp_path / place)
    (tmp_path / UNEVEN / "trajectory" / "1_full_screenshot.png").unlink()
    (tmp_path / SECOND / "trajectory" / "0001.png").rename(
        tmp_path / SECOND / "trajectory" / "9999.png"
    )
    pointer = tmp_path / SECOND / "trajectory" / "0002.png"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    bundles = by_place(tmp_path)
    first, second = bundles[UNEVEN], bundles[SECOND]
    assert first.steps[1].before is None
    assert ("screenshot", "step 1") in [(gap.what, gap.where) for gap in first.run.gaps]
    assert [(gap.where, gap.why) for gap in second.run.gaps] == [
        ("step 1: 0001.png", "missing"),
        ("trajectory/0002.png", "a git-lfs pointer, not the picture itself"),
        ("trajectory/9999.png", "no step names it"),
    ]
    # What is no picture is kept all the same, for whoever can read it.
    (spoilt,) = (b for b in second.run.source.originals if b.name == "trajectory/0002.png")
    assert second.read_blob(spoilt.sha256) == pointer.read_bytes()


def test_pictures_may_be_counted_from_1(tmp_path: Path) -> None:
    shutil.copytree(DATA / UNEVEN, tmp_path / "run")
    folder = tmp_path / "run" / "trajectory"
    for number in (3, 2, 1, 0):
        (folder / f"{number}_full_screenshot.png").rename(folder / f"{number + 1}.png")
    bundle = only(tmp_path)
    assert bundle.n_screenshots == 4
    assert bundle.steps[0].before is not None


def test_what_labels_mean_is_asked_and_not_guessed() -> None:
    with open_runs(DATA) as source:
        (question,) = source.questions
        found = list(source)
    assert (question.key, set(question.choices)) == ("om2w_labels", {"official", "swapped"})
    said = {
        str(b.run.source.path).removesuffix("/result.json"): [label.success for label in b.labels]
        for b in found
        if isinstance(b, RunBundle)
    }
    # 1 is a success in whichever meaning.
    assert said == {
        UNEVEN: ["success"],
        SECOND: ["success"],
        WITHOUT_PICTURES: [],
        "v1/eb035f7728a4fdc6a7598680e3dc776e": [],
    }
    swapped = by_place(DATA, om2w_labels="swapped")
    assert swapped[WITHOUT_PICTURES].labels[0].success == "not_executable"
    told = next(b for b in found if isinstance(b, RunBundle) and WITHOUT_PICTURES in b.source)
    assert "nobody said what it means" in told.problems[-1].reason
    # The run is the same with and without the answer, so that an answer can follow.
    assert told.content_hash == swapped[WITHOUT_PICTURES].content_hash


def test_labels_that_contradict_each_other_are_left_out(tmp_path: Path) -> None:
    shutil.copytree(DATA / SECOND, tmp_path / "run")
    task_id = SECOND.partition("/")[2]
    entries = [{"task_id": task_id, "X_human_label": n} for n in (0, 1)]
    (tmp_path / "human_label.json").write_text(json.dumps(entries))
    bundle = only(tmp_path, om2w_labels="official")
    assert bundle.labels == ()
    assert bundle.run.gaps[-1].why == "the labels [0, 1] are given for this task"


def test_judges_lines_are_evaluations(tmp_path: Path) -> None:
    shutil.copytree(DATA / SECOND, tmp_path / "run")
    task_id = SECOND.partition("/")[2]
    name = "WebJudge_Online_Mind2Web_eval_o4-mini_score_threshold_3_auto_eval_results.json"
    lines = [
        {"task_id": task_id, "predicted_label": 0, "key_points": "1. price"}
        | {"evaluation_details": {"response": "No.", "predicted_label": 0}},
        {"task_id": "another", "predicted_label": 1},
    ]
    (tmp_path / name).write_text("\n".join(map(json.dumps, lines)) + "\nbroken {" + task_id)
    (bundle,) = formats.runs(tmp_path).values()
    (judged,) = bundle.evaluations
    assert (judged.verdict, judged.rationale) == ("failed", "No.")
    assert (judged.evaluator.name, judged.evaluator.version) == (
        "WebJudge_Online_Mind2Web_eval",
        "imported",
    )
    config = (judged.evaluator.model_extra or {})["config"]
    assert (config["model"], config["score_threshold"]) == ("o4-mini", 3)
    assert judged.extra == {"details": {"key_points": "1. price"}}


@pytest.mark.parametrize(
    ("words", "name", "args", "point"),
    [
        ("Click at (600, 475)", "click", (), Point(x=600, y=475)),
        ('Type "support services"', "type", ("support services",), None),
        ("Press ENTER", "press", ("ENTER",), None),
        ("Navigate to https://a.example/", "navigate", ("https://a.example/",), None),
        ("Navigate back", "go_back", (), None),
        ("Scroll (delta_x=0, delta_y=400)", "scroll", (), None),
        ("Drag from (1100, 500) to (400, 500)", "drag", (), Point(x=1100, y=500)),
        ("Something odd", None, (), None),
        ("TASK_COMPLETE -> ANSWER: 24.90", "task_complete", ("24.90",), None),
    ],
)
def test_actions_are_read_from_free_english(
    words: str, name: str | None, args: tuple[str, ...], point: Point | None
) -> None:
    said = read_action(words)
    assert (said.name, said.args, said.point) == (name, args, point)
    assert [record.raw for record in action_records(words, 1_000)] == [words]


def test_actions_are_read_from_targets_and_operations() -> None:
    (record,) = action_records("<button> Search -> TYPE: red shoes | FAILED", 1_000)
    assert (record.name, record.args, record.status) == ("type", ("red shoes",), "error")
    assert record.target is not None
    assert record.target.text == "<button> Search"
    (call,) = action_records("click('21')", 1_000)
    assert (call.name, call.args, call.dialect) == ("click", ("21",), "om2w")
    assert action_records("  ", 10) == action_records(None, 10) == ()


def test_a_password_in_an_action_goes(tmp_path: Path) -> None:
    shutil.copytree(DATA / SECOND, tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    document = json.loads(path.read_text())
    document["action_history"][0]["action"] = "textbox Password -> TYPE: hunter2-mine | SUCCESS"
    document["action_history"][1]["thought"] = "I typed hunter2-mine."
    path.write_text(json.dumps(document))
    bundle = only(tmp_path)
    assert bundle.steps[0].actions[0].raw == f"textbox Password -> TYPE: {REDACTED} | SUCCESS"
    assert bundle.steps[1].thought == f"I typed {REDACTED}."
    assert bundle.run.source.redacted == {"password": 2}


def test_an_end_by_the_step_limit_is_incomplete(tmp_path: Path) -> None:
    shutil.copytree(DATA / UNEVEN, tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"result_status": "error_max_turns"}))
    bundle = only(tmp_path)
    assert (bundle.run.outcome, bundle.run.end_reason) == ("incomplete", "max_steps")


@pytest.mark.parametrize(
    "document",
    [
        {"task_id": "t", "action_history": "x", "thoughts": []},
        {"task_id": "t", "action_history": [1, None, {"a": []}], "thoughts": [{}, 3]},
        {
            "task_id": "t",
            "schema_version": "online-mind2web-v2",
            "action_history": [7, {"step": "x"}],
        },
    ],
)
def test_odd_results_are_read_or_refused_and_never_raise(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    (tmp_path / "result.json").write_text(json.dumps(document))
    (found,) = read(tmp_path)
    assert isinstance(found, RunBundle | Problem)
    assert "unexpected" not in getattr(found, "reason", "")


@pytest.mark.parametrize("nasty", [" ", "->", "a -> A", "| ", "(1, ", "TYPE: ", 'type "'])
def test_no_action_is_slow_to_read(nasty: str) -> None:
    started = time.process_time()
    read_action(nasty * 50_000)
    assert time.process_time() - started < 5
