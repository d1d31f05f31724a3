"""WonderBread's demonstrations, made up from the layout that its recorder documents."""

from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.demonstrations import NAME, did, recorded, state, written_out
from tests.webagent.trajectory.formats import rejections, runs, stored_text
from webagent.trajectory.intake import NO_TIME
from webagent.trajectory.records import Gap, Outcome


@pytest.fixture
def bundle(tmp_path: Path) -> Any:
    [found] = runs(written_out(tmp_path / "demos")).values()
    return found


def test_a_demonstration_is_a_run_of_a_person(bundle):
    assert (bundle.run.agent.name, bundle.run.outcome) == ("human", Outcome.UNKNOWN)
    assert (bundle.task.task_set.name, bundle.task.external_id) == ("webarena", "104")
    assert [blob.name for blob in bundle.run.artefacts] == [f"SOP - {NAME}.txt"]
    assert [gap.what for gap in bundle.run.gaps] == ["goal"]
    assert [gap.what for gap in bundle.run.source.dropped] == ["raw recording"]


def test_states_are_seen_and_what_follows_them_was_done(bundle):
    first, second = bundle.steps
    assert [action.name for action in first.actions] == ["mouse_down", "mouse_up"]
    assert first.before.url == "http://shop/0"
    assert second.after.url == "http://shop/2"
    assert bundle.n_screenshots == 3
    assert first.started_at.year == 2023


def test_points_are_in_the_window_not_on_the_screen(bundle):
    action = bundle.steps[0].actions[0]
    assert (action.point.x, action.point.y) == (50, 40)
    assert action.coordinate_space.width == 800
    assert (action.target.xpath, action.target.text) == ("//a[1]", "Orders")


def test_keys_of_passwords_are_taken_out(bundle):
    assert bundle.steps[1].actions[0].named_args == {"key": "(redacted)"}
    assert '"key": "h"' not in stored_text(bundle)


def test_positions_written_as_lists_and_missing_pictures(tmp_path):
    odd = state(7, window_position=[1, 2], window_size=[0, 0])
    trace = [odd, did("scroll", x=3, y=4, dy=-1), {"type": "odd"}, 3]
    [found] = runs(recorded(tmp_path, trace)).values()
    action = found.steps[0].actions[0]
    assert (action.point.x, action.coordinate_space) == (2, None)
    assert [gap.where for gap in found.run.gaps if gap.what == "screenshot"] == ["trace.0: 7.png"]


def test_times_and_places_of_the_recording_machine_are_not_taken_for_ours(tmp_path):
    shot = "C:\\Users\\me\\[x] demo\\screenshots\\1.png"
    trace = [
        did("mousedown", x=1, y=1, timestamp=0.5),
        state(1, path_to_screenshot=shot, timestamp=2.5),
        did("mouseup", x=150, y=90, timestamp=3.5),
    ]
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / f"{NAME}.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
    [found] = runs(recorded(tmp_path, trace)).values()
    # What was done before the first state was kept is a step without one.
    first, second = found.steps
    assert (first.before, [action.name for action in first.actions]) == (None, ["mouse_down"])
    # Seconds since the recording began are no times of a clock.
    assert (first.started_at, second.before.at, found.run.started_at) == (None, None, None)
    assert second.before.screenshot.name == "screenshots/1.png"
    assert found.read_blob(second.before.a11y_tree.sha256) == b'[{"tag": "a"}]'
    assert second.before.html.media_type == "text/html"
    assert [blob.name for blob in found.run.videos] == [f"{NAME}.mp4"]


def test_a_time_that_cannot_be_read_is_a_gap(tmp_path):
    trace = [state(7, timestamp="at noon"), did("scroll", timestamp="2023-11-14T22:13:20Z")]
    [found] = runs(recorded(tmp_path, trace)).values()
    assert found.steps[0].before.at is None
    assert found.steps[0].started_at.year == 2023
    assert [gap for gap in found.run.gaps if gap.what in ("time", "value")] == [
        Gap(what="time", where="'at noon'", why=NO_TIME)
    ]


def test_a_trace_without_anything_is_refused(tmp_path):
    [refused] = rejections(recorded(tmp_path, []))
    assert refused.field == "trace"
