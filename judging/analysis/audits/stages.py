"""What an LLM judge was asked and what it replied, ready to be read.

Stages come from our judges and from imports alike, and what stands in them was written by
models and web pages, so nothing about their form is taken for granted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from webagent.llm.registry import is_stub

LONGEST_SHOWN = 4000
MOST_STEPS = 50
MOST_STAGES = 50
MOST_CRITERIA = 50

_LABELS = {
    "equivalence": gettext_lazy("same meaning"),
    "inclusion": gettext_lazy("key information included"),
    "single": gettext_lazy("correct or not"),
    "trajectory": gettext_lazy("whole run"),
    "failures": gettext_lazy("what went wrong"),
    "milestones": gettext_lazy("milestones"),
}
_CRITERIA = {
    "task_fulfilled": gettext_lazy("task fulfilled"),
    "no_side_effects": gettext_lazy("no harmful side effects"),
    "final_state": gettext_lazy("final state reached"),
    "answer": gettext_lazy("answer given"),
}
_ANSWERS = {
    "yes": ("passed", gettext_lazy("yes")),
    "no": ("failed", gettext_lazy("no")),
    "unclear": ("unsure", gettext_lazy("unclear")),
    "not_applicable": ("not_applicable", gettext_lazy("not applicable")),
    "reached": ("passed", gettext_lazy("reached")),
    "lost": ("unsure", gettext_lazy("lost again")),
    "not_reached": ("failed", gettext_lazy("not reached")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionShown:
    """One criterion: its verdict as a style and in words, and the steps that show it."""

    label: str
    style: str
    words: str
    rationale: str
    steps: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageShown:
    """One question to a model. `cost` None: unknown. `is_stub`: no real model answered."""

    label: str
    verdict: str
    rationale: str
    error: str
    is_manipulated: bool
    has_steering: bool
    model: str
    is_stub: bool
    is_cached: bool
    input_tokens: int | None
    output_tokens: int | None
    cost: Decimal | None
    seconds: float | None
    prompt: str
    prompt_hash: str
    criteria: Sequence[CriterionShown]
    steps: Sequence[int]


def stages_of(details: Mapping[str, object]) -> list[StageShown]:
    """The stages that an evaluation's details hold, in order."""
    stored = details.get("stages")
    stages = stored[:MOST_STAGES] if isinstance(stored, list) else []
    return [_stage(stage) for stage in stages if isinstance(stage, dict)]


def _stage(stage: Mapping[str, object]) -> StageShown:
    name, model = _text(stage.get("name"), 100), _text(stage.get("model"), 200)
    criteria = stage.get("criteria")
    return StageShown(
        label=str(_LABELS.get(name, name)),
        verdict=_text(stage.get("verdict"), 20),
        rationale=_text(stage.get("rationale")),
        error=_text(stage.get("error")),
        is_manipulated=stage.get("error_kind") == "manipulated",
        has_steering=stage.get("steering") is True,
        model=model,
        is_stub=is_stub(model),
        is_cached=stage.get("is_cached") is True,
        input_tokens=_count(stage.get("input_tokens")),
        output_tokens=_count(stage.get("output_tokens")),
        cost=_dollars(stage.get("cost")),
        seconds=_seconds(stage.get("seconds")),
        prompt=_text(stage.get("prompt"), 200),
        prompt_hash=_text(stage.get("prompt_hash"), 64),
        criteria=[_criterion(each) for each in criteria[:MOST_CRITERIA] if isinstance(each, dict)]
        if isinstance(criteria, list)
        else [],
        steps=_steps(stage.get("evidence_steps")),
    )


def _criterion(criterion: Mapping[str, object]) -> CriterionShown:
    name, verdict = _text(criterion.get("name"), 200), _text(criterion.get("verdict"), 20)
    style, words = _ANSWERS.get(verdict, ("unsure", verdict))
    return CriterionShown(
        label=str(_CRITERIA.get(name, name)),
        style=style,
        words=str(words),
        rationale=_text(criterion.get("rationale")),
        steps=_steps(criterion.get("evidence_steps")),
    )


def shortened(text: str, longest: int = LONGEST_SHOWN) -> str:
    """The text, or its beginning and how long it is."""
    if len(text) <= longest:
        return text
    return _("%(beginning)s… (%(n)s characters)") % {"beginning": text[:longest], "n": len(text)}


def _text(value: object, longest: int = LONGEST_SHOWN) -> str:
    return shortened(value, longest) if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and value >= 0 else None


def _steps(value: object) -> list[int]:
    found = [_count(step) for step in value] if isinstance(value, list) else []
    return [step for step in found if step is not None][:MOST_STEPS]


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 10**9 else None


def _dollars(value: object) -> Decimal | None:
    """The amount; None where it is unknown or no amount."""
    try:
        amount = Decimal(value) if isinstance(value, str) and len(value) < 40 else None
    except InvalidOperation:
        return None
    return amount if amount is not None and amount.is_finite() and abs(amount) < 10**9 else None
