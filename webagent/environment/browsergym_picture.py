"""The screenshot as the browser encoded it.

BrowserGym decodes every picture to an array of pixels, of which a PNG would have to be made
anew: on most pages more work than all else that keeping a step takes.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import Any

import playwright.sync_api

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
