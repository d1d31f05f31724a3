"""A language model that says what it is told to, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from judging.evaluators.judges.single_stage import SingleStageSettings
from judging.evaluators.judges.two_stage import TwoStageSettings
from webagent.llm.interface import ModelFailure, Reply, Request, TextPart, Usage


class Scripted:
    """Gives the replies in order; a failure among them is raised."""

    def __init__(self, *replies: str | Reply | ModelFailure) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, ModelFailure):
            raise reply
        return said(reply) if isinstance(reply, str) else reply


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


def equivalence(verdict: str = "equivalent", **fields: Any) -> str:
    return json.dumps(
        {"rationale": f"{verdict}!", "steering": False, "control": "", "verdict": verdict} | fields
    )


def inclusion(verdict: str = "included", items: Iterable[bool] | None = None, **fields: Any) -> str:
    held = [verdict == "included"] if items is None else list(items)
    reply = {
        "rationale": f"{verdict}!",
        "items": [{"number": n, "included": included} for n, included in enumerate(held, 1)],
        "contradicted": False,
        "steering": False,
        "control": "",
        "verdict": verdict,
    }
    return json.dumps(reply | fields)


def two_stage(**fields: Any) -> TwoStageSettings:
    return TwoStageSettings(model="judge-model", **fields)


def single_stage(**fields: Any) -> SingleStageSettings:
    return SingleStageSettings(model="judge-model", **fields)


def message_of(request: Request, place: int = -1) -> str:
    """The text of one message of a request, the last one by default."""
    parts = request.messages[place].parts
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
