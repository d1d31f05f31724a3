"""What the frame around every page needs."""

import re
from typing import Any

from django.http import HttpRequest

_ROOMS = (
    ("audit", re.compile(r"^/audit/|^/studies/\d+/audit/")),
    ("studies", re.compile(r"^/studies/|^/disputes/")),
    ("runs", re.compile(r"^/runs/|^/imports/")),
    ("experiments", re.compile(r"^/experiments/|^/hints/|^/knowledge/|^/learning/")),
    ("reruns", re.compile(r"^/reruns/|^/policies/")),
    ("tasks", re.compile(r"^/tasks/")),
)


def frame(request: HttpRequest) -> dict[str, Any]:
    """The chosen theme, and the room of the top bar that the page belongs to ("" for none)."""
    theme = request.COOKIES.get("theme", "auto")
    return {
        "theme": theme if theme in ("light", "dark") else "auto",
        "room": next((room for room, path in _ROOMS if path.match(request.path)), ""),
    }
