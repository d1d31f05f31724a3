"""Replies and settings of judges, for tests."""

import json
from collections.abc import Iterable
from typing import Any

from judging.evaluators.judges.answers import SingleStageSettings, TwoStageSettings
from tests.webagent.llm.scripted import Scripted


def asked(
    judge: type[Any], *about: object, replies: Iterable[object], **settings: Any
) -> tuple[Any, Scripted]:
    """What the judge makes of these replies, for all of which it asks, and who gave them."""
    model = Scripted(*replies)
    chosen = judge.settings_type(model="judge-model", **settings)
    judged = judge(language_model=model, settings=chosen).judge(*about)
    assert not model.replies
    return judged, model


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
