"""A language model that says what a test tells it to, and remembers what it was asked."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from webagent.llm.interface import ModelFailure, Reply, Request, TextPart, Usage


class Scripted:
    """Gives the replies in order.

    Each is a text, a value to be said as JSON, or made from the request; a failure is raised.
    """

    def __init__(self, *replies: object | Callable[[Request], object]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, ModelFailure):
            raise reply
        if isinstance(reply, Reply):
            return reply
        return said(reply if isinstance(reply, str) else json.dumps(reply))

    @property
    def last(self) -> str:
        """The last message of the last request."""
        return message_of(self.requests[-1])


def said(text: str, **fields: Any) -> Reply:
    """A reply of 100 tokens in and 10 out that took a quarter of a second and a tenth of a cent."""
    return Reply(
        text=text,
        **{
            "model": "judge-model-2026-01-01",
            "usage": Usage(input_tokens=100, output_tokens=10),
            "cost": Decimal("0.001"),
            "seconds": 0.25,
            **fields,
        },
    )


def message_of(request: Request, place: int = -1) -> str:
    """The text of one message of a request, the last one by default."""
    parts = request.messages[place].parts
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
