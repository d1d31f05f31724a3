"""Turn BrowserGym's observation into ours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from browsergym.utils.obs import IGNORED_AXTREE_ROLES, flatten_axtree_to_str

from webagent.environment.browsergym_picture import Picture
from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box, ChatMessage, TabRecord

# Lines of text boxes, which newer Chromium reports below every text.
IGNORED_ROLES = [*IGNORED_AXTREE_ROLES, "InlineTextBox"]


def live_observation(obs: Mapping[str, Any]) -> Observation:
    """The same moment in our words; the boxes are in pixels of the screenshot, zoom included."""
    picture: Picture = obs["screenshot"]
    active = int(obs["active_page_index"][0])
    titles = obs["open_pages_titles"]
    tabs = tuple(
        TabRecord(url=url, title=title, active=index == active)
        for index, (url, title) in enumerate(zip(obs["open_pages_urls"], titles, strict=True))
    )
    return Observation(
        at=datetime.now(UTC),
        goal="\n".join(part["text"] for part in obs["goal_object"] if part["type"] == "text"),
        goal_images=tuple(
            _image_url(part) for part in obs["goal_object"] if part["type"] == "image_url"
        ),
        url=obs["url"],
        title=titles[active],
        tabs=tabs,
        screenshot=picture.content,
        width=picture.width,
        height=picture.height,
        axtree=flatten_axtree_to_str(
            _with_clickable_parts(obs["axtree_object"], obs["extra_element_properties"]),
            ignored_roles=IGNORED_ROLES,
        ),
        boxes=_boxes(obs["extra_element_properties"]),
        multiline=_multiline(obs["axtree_object"]),
        focused=obs["focused_element_bid"] or None,
        messages=tuple(
            ChatMessage(
                role=message["role"],
                text=message["message"],
                at=datetime.fromtimestamp(message["timestamp"], UTC),
            )
            for message in obs["chat_messages"]
        ),
        last_action=obs["last_action"] or None,
        last_error=obs["last_action_error"] or None,
    )


def _with_clickable_parts(
    axtree: Mapping[str, Any], properties: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The tree with every part of no role that reacts to clicks marked so.

    Without the mark they are left out of the text as mere layout, and with them the only
    handle on links and buttons made of a plain `span` or `div`.
    """
    nodes = []
    for node in axtree["nodes"]:
        found = properties.get(node.get("browsergym_id", ""))
        if found and found["clickable"] and node["role"]["value"] == "generic":
            mark = {"name": "clickable", "value": {"type": "boolean", "value": True}}
            node = {**node, "properties": [*node.get("properties", ()), mark]}
        nodes.append(node)
    return {**axtree, "nodes": nodes}


def _boxes(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Box]:
    return {
        bid: Box(x=box[0], y=box[1], width=box[2], height=box[3])
        for bid, found in properties.items()
        if (box := found["bbox"]) is not None
    }


def _multiline(axtree: Mapping[str, Any]) -> frozenset[str]:
    """Fields of several lines; the text of the tree leaves out that they are."""
    return frozenset(
        str(node["browsergym_id"])
        for node in axtree["nodes"]
        if "browsergym_id" in node
        for each in node.get("properties", ())
        if each["name"] == "multiline" and each["value"].get("value")
    )


def _image_url(part: Mapping[str, Any]) -> str:
    image = part["image_url"]
    return str(image["url"] if isinstance(image, Mapping) else image)
