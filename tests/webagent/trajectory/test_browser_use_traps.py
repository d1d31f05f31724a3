"""Where browser-use's histories mislead: paths of elsewhere, parallel lists, what is no error."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA, runs, truth
from tests.webagent.trajectory.samples import png
from webagent.trajectory.actions import action_kind
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.browser_use.steps import NOT_IN_UPLOAD
from webagent.trajectory.records import ActionRecord, Box

SAMPLES = DATA / "browser_use"
TRUTH = truth("browser_use")
History = list[dict[str, Any]]


def changed(folder: Path, change: Callable[[History], Any], name: str = "find_price") -> RunBundle:
    """A history with something changed in it, with all that lies beside it."""
    own = folder / "study" / "run"
    shutil.copytree(SAMPLES / name, own, dirs_exist_ok=True)
    path = own / "history.json"
    document = json.loads(path.read_text())
    change(document["history"])
    path.write_text(json.dumps(document))
    [bundle] = runs(folder).values()
    assert isinstance(bundle, RunBundle)
    return bundle


class TestPictures:
    def test_a_picture_shows_what_was_before_the_step_of_its_number(self, tmp_path: Path) -> None:
        first, second, third = changed(tmp_path, lambda history: None).steps
        assert [step.source_index for step in (first, second, third)] == [1, 2, 3]
        assert first.before is not None
        assert first.before.screenshot is None
        for step in (second, third):
            assert step.before is not None
            assert step.before.screenshot is not None
            assert step.before.screenshot.name == f"screenshots/step_{step.source_index}.png"

    def test_a_path_of_another_system_is_found_by_its_name(self, tmp_path: Path) -> None:
        def change(history: History) -> None:
            history[1]["state"]["screenshot_path"] = "C:\\Users\\me\\Temp\\screenshots\\step_2.png"

        assert changed(tmp_path, change).n_screenshots == 2

    @pytest.mark.parametrize("path", ["/{}", "../../{}", "file:///{}", "/etc/../{}"])
    def test_no_path_leads_out_of_the_run_s_folder(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "own.png").write_bytes(png())
        place = path.format(str(tmp_path / "own.png").lstrip("/"))

        def change(history: History) -> None:
            history[1]["state"]["screenshot_path"] = place

        bundle = changed(tmp_path / "given", change)
        assert bundle.n_screenshots == 1
        assert ("step 1: own.png", NOT_IN_UPLOAD) in [
            (gap.where, gap.why) for gap in bundle.run.gaps
        ]

    def test_a_generation_is_told_by_its_keys_though_no_picture_was_kept(
        self, tmp_path: Path
    ) -> None:
        def change(history: History) -> None:
            for item in history:
                item.pop("state_message")
                item["state"]["screenshot_path"] = None

        assert changed(tmp_path, change).run.source.format_version == "0.5-0.7"

    def test_pictures_that_actions_brought_back_are_no_base64(self, tmp_path: Path) -> None:
        def change(history: History) -> None:
            words = base64.b64encode(png(shade=5)).decode()
            history[1]["result"][0]["images"] = [{"name": "read.png", "data": words}]

        _, picture = changed(tmp_path, change).steps[1].messages
        assert (picture.media_type, picture.width) == ("image/png", 40)


class TestActions:
    def test_elements_belong_to_the_action_of_their_place(self, tmp_path: Path) -> None:
        def change(history: History) -> None:
            item = history[1]
            item["model_output"]["action"] = [{"wait": {"seconds": 1}}, {"click": {"index": 33}}]
            item["state"]["interacted_element"].insert(0, None)
            item["result"].insert(0, {"is_done": False, "extracted_content": "Waited"})

        wait, click = changed(tmp_path, change).steps[1].actions
        assert (wait.target, wait.result_text) == (None, "Waited")
        assert click.target is not None
        assert click.target.xpath == "html/body/main/div/div[1]/div/h3/a"

    def test_coordinates_that_the_agent_chose_are_the_point(self, tmp_path: Path) -> None:
        def change(history: History) -> None:
            history[1]["model_output"]["action"] = [
                {"click": {"coordinate_x": 11, "coordinate_y": 12}}
            ]
            history[1]["state"]["interacted_element"] = [None]
            history[1]["result"][0].pop("metadata", None)

        (action,) = changed(tmp_path, change).steps[1].actions
        assert action.point is not None
        assert (action.point.x, action.point.y) == (11, 12)

    @pytest.mark.parametrize(
        ("clicked", "box"),
        [
            ({"click_x": 50, "click_y": 300}, Box(x=40, y=290, width=20, height=20)),
            ({}, Box(x=40, y=2_000, width=20, height=20)),
        ],
    )
    def test_a_box_of_the_page_is_moved_to_where_it_was_in_view(
        self, tmp_path: Path, clicked: dict[str, int], box: Box
    ) -> None:
        def change(history: History) -> None:
            bounds = {"x": 40, "y": 2_000, "width": 20, "height": 20}
            history[1]["state"]["interacted_element"][0]["bounds"] = bounds
            history[1]["result"][0]["metadata"] = clicked

        (action,) = changed(tmp_path, change).steps[1].actions
        assert action.target is not None
        assert action.target.box == box
        assert action.point is not None
        assert (action.point.x, action.point.y) == (50, box.y + 10)

    def test_a_warning_in_a_result_is_no_error_of_ours(self, tmp_path: Path) -> None:
        words = "Element index 999 not available - page may have changed."

        def change(history: History) -> None:
            history[1]["result"] = [{"is_done": False, "extracted_content": words}]

        (action,) = changed(tmp_path, change).steps[1].actions
        assert (action.status, action.error, action.result_text) == ("ok", None, words)

    def test_more_results_than_actions_are_kept(self, tmp_path: Path) -> None:
        def change(history: History) -> None:
            history[1]["result"].append({"extracted_content": "one more"})

        extra = changed(tmp_path, change).steps[1].extra
        assert extra is not None
        assert extra["results"] == [{"extracted_content": "one more"}]

    @pytest.mark.parametrize(
        ("older", "newer"),
        [
            ("go_to_url", "navigate"),
            ("click_element_by_index", "click"),
            ("input_text", "input"),
            ("switch_tab", "switch"),
            ("select_dropdown_option", "select_dropdown"),
        ],
    )
    def test_a_renamed_action_is_of_the_same_kind(self, older: str, newer: str) -> None:
        kinds = [action_kind(ActionRecord(raw="", dialect="x", name=n)) for n in (older, newer)]
        assert kinds[0] == kinds[1] != "other"


class TestEndings:
    def test_an_agent_may_say_that_it_did_not_succeed(self, tmp_path: Path) -> None:
        def change(history: History) -> None:
            history[-1]["result"][-1]["success"] = False

        run = changed(tmp_path, change).run
        assert (run.outcome, run.claimed_success) == ("unknown", False)

    def test_in_the_last_step_another_action_is_no_action(self, tmp_path: Path) -> None:
        bundle = changed(tmp_path, lambda history: None, "loop")
        last = bundle.steps[-1]
        assert (last.actions, bundle.run.end_reason) == ((), "max_steps")
        assert "Invalid model output format" in str(last.llm_calls[0].problem)

    def test_an_answer_that_cannot_be_read_is_the_agent_s_error_not_the_model_s(
        self, tmp_path: Path
    ) -> None:
        run = changed(tmp_path, lambda history: history.pop(), "loop").run
        assert (run.outcome, run.end_reason) == ("incomplete", "exception")
        assert run.error is not None
        assert run.error.origin == "agent"

    @pytest.mark.parametrize(
        ("words", "reason"),
        [("Failed to complete task in maximum steps", "max_steps"), ("Stopped", "never_started")],
    )
    def test_a_history_of_last_words_alone_has_no_steps(
        self, tmp_path: Path, words: str, reason: str
    ) -> None:
        def change(history: History) -> None:
            del history[:-1]
            history[0]["result"][0]["error"] = words

        bundle = changed(tmp_path, change, "loop")
        assert (bundle.steps, bundle.run.end_reason) == ((), reason)
        assert (bundle.run.extra or {})["last_words"] == [words]

    def test_what_lies_beside_is_kept_as_far_as_it_is_known(self, tmp_path: Path) -> None:
        own = tmp_path / "study" / "run"
        own.mkdir(parents=True)
        (own / "conversation_7_1.txt").write_text("user: go, Authorization: Bearer abcdefghijkl")
        (own / "agent_history.gif").write_bytes(b"GIF89a")
        (own / "storage_state.bin").write_bytes(b"cookie")
        bundle = changed(tmp_path, lambda history: None)
        kept = {blob.name: bundle.read_blob(blob.sha256) for blob in bundle.run.artefacts}
        assert set(kept) == {"conversation_7_1.txt", "agent_history.gif"}
        assert b"abcdefghijkl" not in kept["conversation_7_1.txt"]
        assert [gap.where for gap in bundle.run.source.dropped] == ["storage_state.bin"]


def test_the_tab_of_the_step_s_address_is_the_active_one(tmp_path: Path) -> None:
    def change(history: History) -> None:
        state = history[1]["state"]
        other = {"url": "http://other/", "title": "Other", "page_id": 0}
        state["tabs"] = [other, {"url": state["url"], "title": "Shop", "page_id": 1}]

    before = changed(tmp_path, change).steps[1].before
    assert before is not None
    assert [(tab.title, tab.active) for tab in before.tabs] == [("Other", False), ("Shop", True)]
