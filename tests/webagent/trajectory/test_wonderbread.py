"""WonderBread's demonstrations, made up from the layout that its recorder documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.formats import rejections, runs, stored_text
from tests.webagent.trajectory.samples import png
from webagent.trajectory.records import Outcome

NAME = "104 @ 2023-12-30-18-42-09"


def state(number: int, **more: Any) -> dict[str, Any]:
    data = {
        "url": f"http://shop/{number}",
        "tab": "Shop",
        "json_state": '[{"tag": "a"}]',
        "html": "<script>alert(1)</script>",
        "path_to_screenshot": f"/home/me/[x] {NAME}/screenshots/{number}.png",
        "window_position": {"x": 100, "y": 50},
        "window_size": {"width": 800, "height": 600},
        "timestamp": 1703961729.5 + number,
    }
    return {"type": "state", "data": data | more}


def did(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "action", "data": {"type": kind, "timestamp": 1703961730.0, **more}}


def recorded(folder: Path, trace: list[Any]) -> Path:
    own = folder / NAME
    (own / "screenshots").mkdir(parents=True)
    (own / f"{NAME}.json").write_text(json.dumps({"trace": trace}))
    (own / f"[raw] {NAME}.json").write_text(json.dumps({"trace": trace}))
    (own / f"SOP - {NAME}.txt").write_text("1. Open the shop.")
    for number in range(3):
        (own / "screenshots" / f"{number}.png").write_bytes(png(shade=number))
    return folder


@pytest.fixture
def bundle(tmp_path: Path) -> Any:
    element = {"xpath": "//a[1]", "text": "Orders", "tag": "a"}
    trace = [
        state(0),
        did("mousedown", x=150, y=90, button="left", element_attributes=element),
        did("mouseup", x=150, y=90),
        state(1),
        did("keystroke", key="h", element_attributes={"element": {"type": "password"}}),
        state(2),
    ]
    [found] = runs(recorded(tmp_path / "demos", trace)).values()
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
    assert [gap.why for gap in found.run.gaps if gap.what == "screenshot"] == ["7.png: not there"]


def test_a_trace_without_anything_is_refused(tmp_path):
    [refused] = rejections(recorded(tmp_path, []))
    assert refused.field == "trace"
