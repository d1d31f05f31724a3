"""Where submissions to Online-Mind2Web mislead: numbers in names, answers said twice, free keys."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.webagent.trajectory.formats import only
from tests.webagent.trajectory.samples import png
from webagent.trajectory.bundles import RunBundle

TASK = {"task_id": "t", "task": "Find the price"}


def submitted(folder: Path, pictures: tuple[str, ...] = (), **document: Any) -> RunBundle:
    """A result with pictures in its folder `trajectory`, each of another shade."""
    (folder / "t" / "trajectory").mkdir(parents=True, exist_ok=True)
    (folder / "t" / "result.json").write_text(json.dumps(TASK | document))
    for shade, name in enumerate(pictures):
        (folder / "t" / "trajectory" / name).write_bytes(png(shade=shade))
    return only(folder, om2w_labels="official")


def gaps(bundle: RunBundle) -> list[tuple[str, str]]:
    return [(gap.where, gap.why) for gap in bundle.run.gaps]


def shown(bundle: RunBundle) -> list[str | None]:
    """The name of the picture at each step."""
    pictures = [step.before.screenshot if step.before else None for step in bundle.steps]
    return [(blob.name or "").rpartition("/")[2] if blob else None for blob in pictures]


def test_the_tenth_picture_does_not_come_after_the_first(tmp_path: Path) -> None:
    names = tuple(f"{n}_full_screenshot.png" for n in range(11))
    bundle = submitted(
        tmp_path, names, action_history=["Wait"] * 11, thoughts=["x"] * 11, final_result_response=""
    )
    assert shown(bundle) == list(names)
    assert gaps(bundle) == []


def test_pictures_that_no_number_places_are_told(tmp_path: Path) -> None:
    bundle = submitted(
        tmp_path, ("0_a.png", "0_b.png", "last.png"), action_history=["Wait"], thoughts=["x"]
    )
    assert shown(bundle) == ["0_a.png"]
    assert gaps(bundle) == [
        ("trajectory/last.png", "no number in its name"),
        ("trajectory/0_b.png", "trajectory/0_a.png has the same number"),
    ]


def test_pictures_may_be_jpegs_whatever_they_are_called(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "trajectory"
    folder.mkdir(parents=True)
    Image.new("RGB", (9, 8)).save(folder / "0_screenshot.JPG", "JPEG")
    bundle = submitted(tmp_path, action_history=["Wait"], thoughts=["x"])
    before = bundle.steps[0].before
    assert before is not None
    assert before.screenshot is not None
    assert before.screenshot.media_type == "image/jpeg"


def test_an_empty_first_thought_moves_none_of_the_others(tmp_path: Path) -> None:
    thoughts = ["", "Same.", "Same."]
    bundle = submitted(tmp_path, action_history=["Wait", "Wait", "Scroll"], thoughts=thoughts)
    assert [step.thought for step in bundle.steps] == [None, "Same.", "Same."]


def test_an_answer_may_stand_in_the_last_action_alone(tmp_path: Path) -> None:
    history = [{"step": 0, "screenshot": "0.png", "action": "TASK_COMPLETE -> ANSWER: 24.90"}]
    version: dict[str, Any] = {"schema_version": "online-mind2web-v2"}
    bundle = submitted(tmp_path, ("0.png",), action_history=history, **version)
    assert bundle.run.final_answer == "24.90"
    assert gaps(bundle) == [("agent_final_answer", "not what the last action answers")]
    version["agent_final_answer"] = "25.00"
    bundle = submitted(tmp_path, ("0.png",), action_history=history, **version)
    assert bundle.run.final_answer == "25.00"
    assert gaps(bundle) == [("agent_final_answer", "not what the last action answers")]


def test_an_entry_with_another_number_than_its_place_is_told(tmp_path: Path) -> None:
    history = [{"step": 4, "screenshot": "0.png", "action": "a -> CLICK | SUCCESS"}]
    bundle = submitted(
        tmp_path, ("0.png",), action_history=history, schema_version="online-mind2web-v2"
    )
    assert gaps(bundle) == [("step 0", "its own number is 4")]
    assert (bundle.steps[0].index, bundle.steps[0].source_index) == (0, 4)


def test_what_submitters_add_is_kept(tmp_path: Path) -> None:
    added: dict[str, Any] = {
        "result_status": "success",
        "duration_ms": 7,
        "input_image_paths": ["/home/me/x.png"],
    }
    bundle = submitted(tmp_path, action_history=["Wait"], thoughts=["x"], **added)
    assert bundle.run.extra == {"result_status": "success", "duration_ms": 7}
    # The word of who submitted it is no outcome.
    assert bundle.run.outcome == "unknown"


def test_the_nearest_labels_count_with_what_the_reviewer_said(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    said = {"reasoning": "Wrong shop.", "failure_type": "navigation"}
    for folder, number in ((tmp_path, 1), (inner, 0)):
        folder.mkdir(exist_ok=True)
        entry = {"task_id": "t", "A_human_label": number} | said
        (folder / "human_label.json").write_text(json.dumps([entry]))
    result = TASK | {"action_history": ["Wait"], "thoughts": ["x"]}
    (inner / "result.json").write_text(json.dumps(result))
    (label,) = only(tmp_path, om2w_labels="official").labels
    assert (label.success, label.rationale) == ("failure", "Wrong shop.")
    assert (label.failure_types, label.raw) == (("navigation",), {"human_label": 0})


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        ({"evaluation_details": {"predicted_label": 1}}, "passed"),
        ({"predicted_label": 2}, "error"),
        ({"predicted_label": None}, "error"),
    ],
)
def test_a_judge_s_word_may_stand_in_its_details(
    tmp_path: Path, entry: dict[str, Any], verdict: str
) -> None:
    name = "WebJudge_Online_Mind2Web_eval_m_score_threshold_3_auto_eval_results.json"
    (tmp_path / name).write_text(json.dumps({"task_id": "t", "predicted_label": None} | entry))
    bundle = submitted(tmp_path, action_history=["Wait"], thoughts=["x"])
    assert [each.verdict for each in bundle.evaluations] == [verdict]
