"""What the frame around every page needs."""

from typing import Any

from django.http import HttpRequest


def frame(request: HttpRequest) -> dict[str, Any]:
    """The chosen theme; the rest of the frame is in the templates."""
    theme = request.COOKIES.get("theme", "auto")
    return {"theme": theme if theme in ("light", "dark") else "auto"}
