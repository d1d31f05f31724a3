"""Demonstrations as WonderBread's recorder writes them, made up from its documented layout."""

import json
from pathlib import Path
from typing import Any

from tests.webagent.trajectory.samples import png

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
    return {"type": "action", "data": {"type": kind, "timestamp": 1703961730.0} | more}


def recorded(folder: Path, trace: list[Any]) -> Path:
    own = folder / NAME
    (own / "screenshots").mkdir(parents=True, exist_ok=True)
    (own / f"{NAME}.json").write_text(json.dumps({"trace": trace}))
    (own / f"[raw] {NAME}.json").write_text(json.dumps({"trace": trace}))
    (own / f"SOP - {NAME}.txt").write_text("1. Open the shop.")
    for number in range(3):
        (own / "screenshots" / f"{number}.png").write_bytes(png(shade=number))
    return folder


def written_out(folder: Path) -> Path:
    """One with a click and a key: states, what was done between them, pictures, a procedure."""
    element = {"xpath": "//a[1]", "text": "Orders", "tag": "a"}
    trace = [
        state(0),
        did("mousedown", x=150, y=90, button="left", element_attributes=element),
        did("mouseup", x=150, y=90),
        state(1),
        did("keystroke", key="h", element_attributes={"element": {"type": "password"}}),
        state(2),
    ]
    return recorded(folder, trace)
