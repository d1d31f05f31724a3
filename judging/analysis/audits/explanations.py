"""Why an evaluator said what it said, and what a judge was asked and replied, ready to be read.

Details come from our evaluators and from imports alike, and what stands in them was written by
models and web pages, so nothing about their form is taken for granted.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.models import Evaluation
from webagent.llm.registry import is_stub
from webagent.measures import pieces
from webagent.trajectory.values import items, mapping

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
    "lost": ("unsure", gettext_lazy("lost")),
    "not_reached": ("failed", gettext_lazy("not reached")),
}
_SHOWN = (
    "checks",
    "rules",
    "error",
    "score_if_all_pass",
    "score_if_all_fail",
    "stages",
    "manipulated",
    "decided_by",
    "parts",
    "task",
    "pictures",
    "milestones",
    "milestones_hash",
    "progress",
)
"""What of the details is shown in its own place, or says what is shown elsewhere already."""
_FAILING = ("failed", "no_evidence", "needs_judge", "error")


class CheckShown:
    def __init__(self, check: Mapping[str, object]) -> None:
        expected, actual = _shown(check.get("expected")), _shown(check.get("actual"))
        normalised = _shown(check.get("normalised"))
        self.name = _text(check.get("name"))
        self.verdict = _text(check.get("verdict"))
        self.message = _shown(check.get("message"))
        self.normalised = normalised if normalised != actual else ""
        self.rules = [_text(rule) for rule in items(check.get("rules"))]
        self.texts = difference(expected, actual, passed=self.verdict == "passed")


class Explanation:
    def __init__(self, evaluation: Evaluation) -> None:
        details = mapping(evaluation.details)
        rest = {
            key: value
            for key, value in details.items()
            if key not in _SHOWN and value not in (None, [])
        }
        self.decided_by = decided_by(evaluation.details)
        self.checks = [CheckShown(check) for check in _objects(details.get("checks"))]
        self.stages = stages_of(details)
        self.is_manipulated = details.get("manipulated") is True or any(
            stage.is_manipulated for stage in self.stages
        )
        self.is_stubbed = any(stage.is_stub for stage in self.stages)
        """A stub answered where a model would."""
        self.task = " ".join(_text(part) for part in mapping(details.get("task")).values())
        """The version of the task that was judged, where that is told."""
        self.rest = shortened(json.dumps(rest, ensure_ascii=False, indent=1)) if rest else ""
        """What else was stored, as JSON; empty where that is nothing."""


def decider(details: object) -> str:
    """What made the verdict, as an address names it; empty where that is not known.

    Rules that changed the verdict come first; else a judge's last stage; else the first check
    that did not pass; else all.
    """
    known = mapping(details)
    if rules := [_text(rule) for rule in items(known.get("rules"))]:
        return ", ".join(rules)
    if names := [_words(each.get("name"), 100) for each in _stages(known)]:
        return names[-1]
    checks = _objects(known.get("checks"))
    for check in checks:
        if _text(check.get("verdict")) in _FAILING:
            return _text(check.get("name"))
    return _text(checks[0].get("name")) if len(checks) == 1 else "*" * len(checks)


def decider_words(key: str) -> str:
    if key and not key.strip("*"):
        return _("all %(n)s checks") % {"n": len(key)}
    return str(_LABELS.get(key, key))


def decided_by(details: object) -> str:
    """The rule or check that made the verdict, in a few words; empty where that is not known."""
    return decider_words(decider(details))


def expected_by(details: object) -> str:
    """What the deciding checks expected: the first that did not pass, else all, a line each."""
    checks = _objects(mapping(details).get("checks"))
    failing = [check for check in checks if _text(check.get("verdict")) in _FAILING]
    return "\n".join(_shown(check.get("expected")) for check in failing[:1] or checks)


def _objects(value: object) -> list[dict[str, Any]]:
    """The objects of an array; whatever else stands in it is left out."""
    return [each for each in items(value) if isinstance(each, dict)]


def _text(value: object) -> str:
    return value[:100] if isinstance(value, str) else ""


def _shown(value: object) -> str:
    """A stored value as text: strings as they are, the rest as JSON, long ones cut short."""
    if value is None:
        return ""
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text; `mark` is "" for plain, "same", "missing" or "extra"."""

    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Both texts in pieces that join to the texts themselves."""

    expected: Sequence[Segment]
    actual: Sequence[Segment]
    is_whole: bool
    """Whether all was compared; else what is left counts as different."""


def difference(expected: str, actual: str, *, passed: bool) -> Difference:
    """Where they differ; where the check passed, what of the expected was found instead.

    Words are compared without regard to case. What would take too long to compare counts as
    different.
    """
    first, second = _TOKENS.findall(expected), _TOKENS.findall(actual)
    left: list[Segment] = []
    right: list[Segment] = []
    compared = pieces([one.casefold() for one in first], [one.casefold() for one in second])
    for tag, a, b, c, d in compared:
        equal = tag == "equal"
        found = "same" if passed else ""
        left.append(Segment("".join(first[a:b]), "" if equal or passed else "missing"))
        right.append(Segment("".join(second[c:d]), found if equal else "" if passed else "extra"))
    return Difference(_joined(left), _joined(right), compared.is_whole)


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Without empty pieces; blanks alone are no difference worth a mark."""
    return [
        Segment(piece.text, piece.mark if piece.text.strip() else "")
        for piece in segments
        if piece.text
    ]


class CriterionShown:
    """One criterion: its verdict as a style and in words, and the steps that show it."""

    def __init__(self, criterion: Mapping[str, object]) -> None:
        name, verdict = _words(criterion.get("name"), 200), _words(criterion.get("verdict"), 20)
        self.style, words = _ANSWERS.get(verdict, ("unsure", verdict))
        self.words = str(words)
        self.label = str(_CRITERIA.get(name, name))
        self.rationale = _words(criterion.get("rationale"))
        self.steps = _steps(criterion.get("evidence_steps"))


class StageShown:
    """One question to a model. `cost` None: unknown. `is_stub`: no real model answered."""

    def __init__(self, stage: Mapping[str, object]) -> None:
        name, criteria = _words(stage.get("name"), 100), items(stage.get("criteria"))
        self.label = str(_LABELS.get(name, name))
        self.verdict = _words(stage.get("verdict"), 20)
        self.rationale = _words(stage.get("rationale"))
        self.error = _words(stage.get("error"))
        self.is_manipulated = stage.get("error_kind") == "manipulated"
        self.has_steering = stage.get("steering") is True
        self.model = _words(stage.get("model"), 200)
        self.is_stub = is_stub(self.model)
        self.is_cached = stage.get("is_cached") is True
        self.input_tokens = _count(stage.get("input_tokens"))
        self.output_tokens = _count(stage.get("output_tokens"))
        self.cost = _dollars(stage.get("cost"))
        self.seconds = _seconds(stage.get("seconds"))
        self.prompt = _words(stage.get("prompt"), 200)
        self.prompt_hash = _words(stage.get("prompt_hash"), 64)
        self.criteria = [CriterionShown(each) for each in _objects(criteria[:MOST_CRITERIA])]
        self.steps = _steps(stage.get("evidence_steps"))


def stages_of(details: Mapping[str, object]) -> list[StageShown]:
    return [StageShown(stage) for stage in _stages(details)]


def _stages(details: Mapping[str, object]) -> list[dict[str, Any]]:
    return _objects(items(details.get("stages"))[:MOST_STAGES])


def shortened(text: str, longest: int = LONGEST_SHOWN) -> str:
    """The text, or its beginning and how long it is."""
    if len(text) <= longest:
        return text
    return _("%(beginning)s… (%(n)s characters)") % {"beginning": text[:longest], "n": len(text)}


def _words(value: object, longest: int = LONGEST_SHOWN) -> str:
    return shortened(value, longest) if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def _steps(value: object) -> list[int]:
    return [n for step in items(value) if (n := _count(step)) is not None][:MOST_STEPS]


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 10**9 else None


def _dollars(value: object) -> Decimal | None:
    try:
        amount = Decimal(value) if isinstance(value, str) and len(value) < 40 else None
    except InvalidOperation:
        return None
    return amount if amount is not None and amount.is_finite() and abs(amount) < 10**9 else None
