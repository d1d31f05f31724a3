"""Turn BrowserGym's observation into ours.

The screenshot as the browser encoded it.

BrowserGym decodes every picture to an array of pixels, of which a PNG would have to be made
anew: on most pages more work than all else that keeping a step takes.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import playwright.sync_api
from browsergym.utils.obs import IGNORED_AXTREE_ROLES, flatten_axtree_to_str

from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box, ChatMessage, TabRecord

_SIZE_AT = 16
"""Where a PNG says its width and height: after its signature and the head of its first part."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG and its size in pixels."""

    content: bytes
    width: int
    height: int


def take_picture(page: playwright.sync_api.Page) -> Picture:
    """What BrowserGym's own `extract_screenshot` shows of the page, zoom included.

    That one sets the size of the page anew, twice for each picture, and leaves it with another
    one than the task's: pages get events that they get nowhere else, and clicks miss.
    """
    session = page.context.new_cdp_session(page)
    options: dict[str, Any] = {"format": "png"}
    if (zoom := getattr(page, "_bgym_scale_factor", 1.0)) != 1.0:
        seen = session.send("Page.getLayoutMetrics")["cssVisualViewport"]
        # The viewport's own size leaves out scroll bars.
        size = page.viewport_size or page.evaluate("({width: innerWidth, height: innerHeight})")
        options["clip"] = {"x": seen["pageX"], "y": seen["pageY"], **size, "scale": zoom}
    content = base64.b64decode(session.send("Page.captureScreenshot", options)["data"])
    session.detach()
    return Picture(content, *struct.unpack_from(">II", content, _SIZE_AT))


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
