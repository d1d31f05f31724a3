"""Run folders that are damaged, hostile or odd: what is whole is read, the rest is said."""

import base64
import gzip
import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.webagent.trajectory.agentlab_folders import notes, repickle
from tests.webagent.trajectory.conftest import MARKER
from tests.webagent.trajectory.formats import only
from tests.webagent.trajectory.samples import png, png_of
from webagent.trajectory.axtree import flatten_axtree
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Bounds, Rejection
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import BlobPart, Outcome, TextPart

pytestmark = pytest.mark.slow


class Call:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


EVIL = pickle.dumps({"obs": Call(os.system, f"touch {MARKER}")})


class TestDamage:
    def test_a_missing_step_leaves_an_empty_one_with_its_number(
        self, copy: Callable[..., Path]
    ) -> None:
        folder = copy()
        (folder / "step_1.pkl.gz").unlink()
        (folder / "screenshot_step_2.png").unlink()
        bundle = only(folder)
        assert notes(bundle) == [("step_1.pkl.gz", "missing"), ("screenshot_step_2", "missing")]
        assert [step.source_index for step in bundle.steps] == [0, 1, 2]
        lost = bundle.steps[1]
        assert lost.thought is None
        assert lost.before is not None
        assert lost.before.screenshot is not None
        assert lost.before.url is None
        # The next step still tells which action led to it, and what came of it.
        assert [action.raw for action in lost.actions] == ["fill('19', 'qP')"]
        assert lost.actions[0].status == "ok"
        assert lost.reward == 0.0
        assert bundle.steps[0].reward is None
        assert bundle.steps[0].actions[0].status == "unknown"

    @pytest.mark.parametrize("keep", [0, 1, 10, 400])
    def test_a_cut_step_file_is_said(self, copy: Callable[..., Path], keep: int) -> None:
        folder = copy()
        path = folder / "step_3.pkl.gz"
        path.write_bytes(path.read_bytes()[:keep])
        bundle = only(folder)
        assert [file for file, _ in notes(bundle)] == ["step_3.pkl.gz"]
        assert len(bundle.steps) == 3
        assert bundle.n_screenshots == 4
        assert bundle.run.outcome == "success"

    def test_an_empty_summary_is_no_failure(self, copy: Callable[..., Path]) -> None:
        for content in ("", "{}", "[]", "{oops", "[" * 100_000):
            folder = copy(name="x")
            (folder / "summary_info.json").write_text(content)
            bundle = only(folder)
            assert notes(bundle) == [("summary_info.json", "empty or not readable")]
            assert bundle.run.outcome == "incomplete"
            assert bundle.run.end_reason == "task_ended"
            assert bundle.run.reward is None
            assert [e.verdict for e in bundle.evaluations] == ["error"]
            # Sums come from the step files then.
            assert bundle.run.totals.input_tokens == 1369
            shutil.rmtree(folder)

    def test_a_killed_run_ends_with_the_action_it_was_killed_at(
        self, copy: Callable[..., Path]
    ) -> None:
        folder = copy()
        for name in ("summary_info.json", "step_3.pkl.gz", "screenshot_step_3.png"):
            (folder / name).unlink()
        (folder / "screenshot_som_step_3.png").unlink()
        bundle = only(folder)
        assert (bundle.run.outcome, bundle.run.end_reason) == ("incomplete", "killed")
        assert len(bundle.steps) == 3
        assert bundle.steps[2].after is None
        assert bundle.steps[2].actions[0].status == "unknown"
        assert bundle.steps[2].reward is None

    def test_a_run_that_never_started_has_no_steps(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        for path in folder.iterdir():
            if path.name != "exp_args.pkl":
                path.unlink()
        bundle = only(folder)
        assert (bundle.run.outcome, bundle.run.end_reason) == ("incomplete", "never_started")
        assert (bundle.steps, bundle.problems) == ((), ())
        assert bundle.task.external_id == "miniwob.login-user"

    def test_settings_that_are_no_settings(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        (folder / "exp_args.pkl").write_bytes(b"\x80\x04oops")
        bundle = only(folder)
        assert [file for file, _ in notes(bundle)] == ["exp_args.pkl"]
        # The log still names agent, task and seed.
        assert bundle.task.external_id == "miniwob.login-user"
        assert (bundle.run.agent.name, bundle.run.seed) == ("ScriptedAgent-login", 5)
        assert len(bundle.steps) == 3

    def test_nothing_readable_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "exp_args.pkl").write_bytes(b"oops")
        with open_runs(tmp_path) as source:
            (rejected,) = source
        assert isinstance(rejected, Rejection)
        assert (rejected.file, rejected.field) == ("exp_args.pkl", "exp_args")

    def test_step_numbers_are_bounded(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        (folder / "step_999999999.pkl.gz").write_bytes(b"")
        with open_runs(folder) as source:
            (rejected,) = source
        assert isinstance(rejected, Rejection)
        assert rejected.file == "step_999999999.pkl.gz"

    def test_attempts_hidden_by_a_dot_count_too(self, copy: Callable[..., Path]) -> None:
        copy(name="2026-11-21_03-48-11_x_on_y_5")
        copy(name=".2026-11-21_03-00-00_x_on_y_5")
        copy(name="_2026-11-21_02-00-00_x_on_y_5")
        with open_runs(copy().parents[0]) as source:
            runs = [item.run for item in source if isinstance(item, RunBundle)]
        hidden = [run for run in runs if run.superseded_by]
        assert [run.attempt for run in hidden] == [1, 2]
        assert hidden[1].retry_of == hidden[0].id
        assert hidden[0].superseded_by == hidden[1].id
        assert {run.attempt for run in runs if not run.superseded_by} == {3}


class TestPictures:
    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (png_of(b"", 30_000, 30_000)[:33] + png()[33:], "pixels"),
            (png_of(b"", 10_000, 10_000)[:33] + png()[33:], "pixels"),
            (b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', "SVG"),
            (b'<?xml version="1.0"?><svg/>', "SVG"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git-lfs"),
            (b"", "not a PNG"),
            (b"<html>", "not a PNG"),
            (png()[:30], "damaged"),
        ],
    )
    def test_what_is_no_picture_is_said_and_the_step_stays(
        self, copy: Callable[..., Path], content: bytes, reason: str
    ) -> None:
        folder = copy()
        (folder / "screenshot_step_1.png").write_bytes(content)
        bundle = only(folder)
        ((file, why),) = notes(bundle)
        assert file == "screenshot_step_1.png"
        assert reason in why or reason == "damaged"
        assert len(bundle.steps) == 3
        assert bundle.steps[1].before is not None
        assert bundle.steps[1].before.screenshot is None
        assert bundle.steps[1].before.marked_screenshot is not None

    def test_the_type_comes_from_the_content(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        for kind, name in (("JPEG", "png"), ("WEBP", "jpg"), ("GIF", "png")):
            out = io.BytesIO()
            Image.new("RGB", (9, 8)).save(out, kind)
            number = ("JPEG", "WEBP", "GIF").index(kind)
            (folder / f"screenshot_step_{number}.png").unlink()
            (folder / f"screenshot_step_{number}.{name}").write_bytes(out.getvalue())
        seen = [step.before.screenshot for step in only(folder).steps if step.before]
        assert [blob.media_type for blob in seen if blob] == [
            "image/jpeg",
            "image/webp",
            "image/gif",
        ]
        assert {(blob.width, blob.height) for blob in seen if blob} == {(9, 8)}

    def test_goals_have_pictures_and_fetch_nothing(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        url = "data:image/png;base64," + base64.b64encode(png()).decode()
        parts = (
            {"type": "text", "text": "Find this:"},
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "image_url", "image_url": "http://127.0.0.1:1/x.png"},
            {"type": "image_url", "image_url": "data:image/png;base64,AAAA"},
        )
        (folder / "goal_object.pkl.gz").write_bytes(gzip.compress(pickle.dumps(parts)))
        bundle = only(folder)
        text, picture, link = bundle.run.goal
        assert isinstance(text, TextPart)
        assert isinstance(picture, BlobPart)
        assert bundle.read_blob(picture.blob.sha256) == png()
        assert isinstance(link, TextPart)
        assert [file for file, _ in notes(bundle)] == ["goal_object.pkl.gz"] * 2

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            gzip.compress(EVIL),
            gzip.compress(pickle.dumps("Find this")),
            gzip.compress(pickle.dumps({"type": "text"})),
            gzip.compress(pickle.dumps([])),
            gzip.compress(pickle.dumps([{"type": "audio"}])),
            gzip.compress(pickle.dumps([{"type": "text", "text": "a"}] * 1_000)),
            gzip.compress(pickle.dumps([{"type": "text", "text": "a"}]))[:-9],
        ],
        ids=("empty", "evil", "text", "mapping", "none", "audio", "many", "cut"),
    )
    def test_a_goal_that_cannot_be_read_is_a_gap(
        self, copy: Callable[..., Path], content: bytes
    ) -> None:
        folder = copy()
        (folder / "goal_object.pkl.gz").write_bytes(content)
        assert "goal" in {gap.what for gap in only(folder).run.gaps}

    @pytest.mark.parametrize("value", ["Find this", 17, {"type": "text"}, [3]])
    def test_a_goal_in_an_observation_that_cannot_be_read_is_a_gap(
        self, copy: Callable[..., Path], value: object
    ) -> None:
        folder = copy()
        (folder / "goal_object.pkl.gz").unlink()
        repickle(
            folder / "step_0.pkl.gz",
            lambda step: step | {"obs": step["obs"] | {"goal_object": value}},
        )
        assert "goal" in {gap.what for gap in only(folder).run.gaps}


class TestHostile:
    def test_evil_pickles_run_nothing_and_are_said(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        (folder / "exp_args.pkl").write_bytes(EVIL)
        (folder / "step_1.pkl.gz").write_bytes(gzip.compress(EVIL))
        (folder / "goal_object.pkl.gz").write_bytes(gzip.compress(EVIL))
        bundle = only(folder)
        assert not Path(MARKER).exists()
        told = notes(bundle)
        assert any(f == "exp_args.pkl" and "system: nothing of it was run" in w for f, w in told)
        assert any(f == "step_1.pkl.gz" and "system" in w for f, w in told)
        assert [step.source_index for step in bundle.steps] == [0, 1, 2]
        assert bundle.steps[2].thought == "Both fields are filled, log in."
        assert bundle.run.goal  # from the first observation instead

    def test_a_call_inside_a_good_step_is_said(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        repickle(
            folder / "step_0.pkl.gz",
            lambda step: step | {"task_info": Call(os.system, f"touch {MARKER}")},
        )
        bundle = only(folder)
        assert not Path(MARKER).exists()
        assert [file for file, _ in notes(bundle)] == ["step_0.pkl.gz"]
        assert bundle.steps[0].thought == "First the username."

    def test_markup_and_odd_characters_stay_text(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        hostile = "<script>x</script>\0\ud800{{7*7}}"
        repickle(
            folder / "step_0.pkl.gz",
            lambda step: (
                step
                | {
                    "action": hostile,
                    "agent_info": {"think": hostile},
                    "obs": step["obs"] | {"url": "javascript:alert(1)" + hostile, "new": [hostile]},
                }
            ),
        )
        step = only(folder).steps[0]
        clean = "<script>x</script>\ufffd\ufffd{{7*7}}"
        assert step.thought == clean
        assert [action.raw for action in step.actions] == [clean]
        assert step.before is not None
        assert step.before.url == "javascript:alert(1)" + clean
        assert step.before.extra == {"new": [clean]}
        assert only(folder).task.start_urls == ()

    def test_numbers_out_of_range_are_unknown(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        summary = json.loads((folder / "summary_info.json").read_text())
        wrong = {
            "cum_reward": float("nan"),
            "stats.cum_input_tokens": -5,
            "stats.cum_output_tokens": 10**30,
            "stats.cum_cost": "12",
            "n_steps": True,
        }
        (folder / "summary_info.json").write_text(json.dumps(summary | wrong))
        run = only(folder).run
        assert run.reward is None
        assert (run.totals.input_tokens, run.totals.output_tokens) == (None, None)

    @pytest.mark.parametrize("reward", [float("nan"), float("inf"), 10**400, "1", None])
    def test_a_reward_that_cannot_be_read_is_no_failure(
        self, copy: Callable[..., Path], reward: object
    ) -> None:
        folder = copy()
        summary = json.loads((folder / "summary_info.json").read_text())
        (folder / "summary_info.json").write_text(json.dumps(summary | {"cum_reward": reward}))
        bundle = only(folder)
        assert (bundle.run.outcome, bundle.run.reward) == (Outcome.UNKNOWN, None)
        [evaluation] = bundle.evaluations
        assert (evaluation.verdict, evaluation.rationale) == ("error", "the reward is not known")
        assert ("value" in {gap.what for gap in bundle.run.gaps}) is (reward is not None)

    def test_observations_of_other_environments_are_kept(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        repickle(folder / "step_0.pkl.gz", lambda step: step | {"obs": ["screen", 3]})
        repickle(folder / "step_1.pkl.gz", lambda step: step | {"obs": {"files": {"a": 1}}})
        first, second, _ = only(folder).steps
        assert first.before is not None
        assert first.before.extra == {"obs": ["screen", 3]}
        assert second.before is not None
        assert second.before.extra == {"files": {"a": 1}}
        assert second.before.screenshot is not None

    def test_secrets_in_settings_are_left_out(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        args = {
            "agent_args": {"agent_name": "a", "openai_api_key": "sk-123", "max_tokens": 5},
            "env_args": {"task_name": "webarena.3", "task_seed": None},
        }
        (folder / "exp_args.pkl").write_bytes(pickle.dumps(args))
        bundle = only(folder)
        assert bundle.task.task_set.name == "webarena"
        kept = [bundle.read_blob(blob.sha256) for blob in bundle.run.artefacts]
        assert not any(b"sk-123" in content for content in kept)
        assert bundle.run.agent.config is not None
        assert bundle.run.agent.config["max_tokens"] == 5
        assert "api_key" in notes(bundle)[0][1]

    def test_secrets_of_pages_and_typed_passwords_go_and_are_counted(
        self, copy: Callable[..., Path]
    ) -> None:
        folder = copy()
        tree = {"axtree_txt": "[7] textbox 'Password', visible"}
        repickle(
            folder / "step_0.pkl.gz",
            lambda step: (
                step | {"action": "fill('7', 'hunter2-mine')", "obs": {**step["obs"], **tree}}
            ),
        )
        address = {"url": "http://a.example/?access_token=abc", "last_action": "hunter2-mine"}
        repickle(folder / "step_1.pkl.gz", lambda step: step | {"obs": {**step["obs"], **address}})
        with (folder / "experiment.log").open("a") as log:
            log.write("POST Authorization: Bearer abcdefghijklmnopqrst\n")
        bundle = only(folder)
        assert bundle.steps[0].actions[0].raw == "fill('7', '(redacted)')"
        assert bundle.steps[1].before is not None
        assert bundle.steps[1].before.url == "http://a.example/?access_token=(redacted)"
        assert bundle.run.source.redacted == {"address": 1, "header": 1, "password": 2}
        kept = b"".join(bundle.read_blob(blob.sha256) for blob in bundle.blob_records())
        assert b"hunter2-mine" not in kept
        assert b"abcdefghijklmnopqrst" not in kept

    def test_pictures_and_text_in_records_are_bounded(self, copy: Callable[..., Path]) -> None:
        folder = copy()
        repickle(folder / "step_0.pkl.gz", lambda step: step | {"agent_info": {"think": "x" * 900}})
        bundle = only(folder, Bounds(text_chars=100, image_bytes=10))
        assert len(bundle.steps[0].thought or "") == 100
        assert bundle.n_screenshots == 0
        assert len(bundle.steps) == 3


class TestErrors:
    def test_of_several_actions_the_named_one_failed(self, copy: Callable[..., Path]) -> None:
        folder = copy("multi_on")
        message = 'ValueError: Could not find element with bid "19"'
        repickle(
            folder / "step_1.pkl.gz",
            lambda step: step | {"obs": step["obs"] | {"last_action_error": message}},
        )
        (step,) = only(folder).steps
        assert [action.status for action in step.actions] == ["ok", "error", "unknown"]
        assert [action.error for action in step.actions] == [None, message, None]

    def test_a_nameless_error_stands_at_the_last_action(self, copy: Callable[..., Path]) -> None:
        folder = copy("multi_on")
        repickle(
            folder / "step_1.pkl.gz",
            lambda step: step | {"obs": step["obs"] | {"last_action_error": "Timeout"}},
        )
        (step,) = only(folder).steps
        assert [action.status for action in step.actions] == ["unknown", "unknown", "error"]


def test_a_raw_tree_becomes_text_where_no_text_was_kept(copy: Callable[..., Path]) -> None:
    tree = {
        "nodes": [
            {"nodeId": "1", "role": {"value": "RootWebArea"}, "name": {"value": "Shop"},
             "childIds": ["2", "3", "1"]},
            {"nodeId": "2", "role": {"value": "generic"}, "name": {"value": ""}, "childIds": ["4"]},
            {"nodeId": "3", "role": {"value": "textbox"}, "name": {"value": "Who's"},
             "browsergym_id": "7", "value": {"value": "me"},
             "properties": [{"name": "focused", "value": {"value": True}},
                            {"name": "level", "value": {"value": 2}},
                            {"name": "hidden", "value": {"value": False}}]},
            {"nodeId": "4", "role": {"value": "StaticText"}, "name": {"value": "Hello"}},
        ]
    }  # fmt: skip
    expected = (
        "RootWebArea 'Shop'\n\tStaticText 'Hello'\n\t"
        "[7] textbox \"Who's\", value='me', focused, level=2"
    )
    assert flatten_axtree(tree) == expected
    assert flatten_axtree({"nodes": "oops"}) == flatten_axtree(None) == ""
    folder = copy()
    repickle(
        folder / "step_0.pkl.gz",
        lambda step: step | {"obs": {"axtree_object": tree, "url": "http://x/"}},
    )
    bundle = only(folder)
    before = bundle.steps[0].before
    assert before is not None
    assert before.a11y_tree is not None
    assert bundle.read_blob(before.a11y_tree.sha256).decode() == expected
