"""A model that says what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable

from webagent.llm.interface import Reply, Request, TextPart, Usage


class ScriptedModel:
    """Gives the replies in turn, each a JSON value, a text, or made from the request."""

    def __init__(self, *replies: object | Callable[[Request], object]) -> None:
        self._replies = list(replies)
        self.asked: list[Request] = []

    def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        said = self._replies.pop(0)
        if callable(said):
            said = said(request)
        text = said if isinstance(said, str) else json.dumps(said)
        return Reply(text=text, model="scripted", usage=Usage(input_tokens=10, output_tokens=5))

    @property
    def last(self) -> str:
        """The last message of the last request."""
        [part] = self.asked[-1].messages[-1].parts
        assert isinstance(part, TextPart)
        return part.text
