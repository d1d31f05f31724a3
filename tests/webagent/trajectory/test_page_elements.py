"""What is kept of a page beside what an agent was told of it."""

from __future__ import annotations

from dataclasses import replace

from tests.webagent.pages import observation
from webagent.environment.browsergym_observation import _multiline
from webagent.trajectory.recording import page_elements
from webagent.trajectory.records import Box


def test_text_areas_are_told_from_text_boxes() -> None:
    tree = "RootWebArea 'P'\n\t[7] textbox 'area'\n\t[8] textbox 'box'\n\t[9] button 'Ok'"
    boxes = {bid: Box(x=0, y=0, width=9, height=9) for bid in ("7", "8", "9")}
    nodes = [
        {"browsergym_id": "7", "properties": [{"name": "multiline", "value": {"value": True}}]},
        {"browsergym_id": "8", "properties": [{"name": "multiline", "value": {"value": False}}]},
        {"role": {"value": "StaticText"}},
    ]
    seen = replace(observation(tree), boxes=boxes, multiline=_multiline({"nodes": nodes}))
    kept = page_elements(seen)["elements"]
    assert isinstance(kept, list)
    assert [each.get("multiline") for each in kept if isinstance(each, dict)] == [True, False, None]
