"""Why an evaluator said what it said, from what is stored with its evaluation.

Details come from our evaluators and from imports alike, so nothing about their form is taken
for granted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from judging.analysis.audits.stages import StageShown, shortened, stages_of
from judging.models import Evaluation
from webagent.sequence_matching import pieces

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckShown:
    """One comparison of an evaluator, ready to be read."""

    name: str
    verdict: str
    message: str
    normalised: str
    rules: Sequence[str]
    texts: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What is behind one evaluation."""

    decided_by: str
    checks: Sequence[CheckShown]
    stages: Sequence[StageShown]
    is_manipulated: bool
    is_stubbed: bool
    """A stub answered where a model would."""
    task: str
    """The version of the task that was judged, where that is told."""
    rest: str
    """What else was stored, as JSON; empty where that is nothing."""


def explain(evaluation: Evaluation) -> Explanation:
    """The evaluation's details in order."""
    details = _object(evaluation.details)
    rest = {
        key: value
        for key, value in details.items()
        if key not in _SHOWN and value not in (None, [])
    }
    stages = stages_of(details)
    return Explanation(
        decided_by=decided_by(evaluation.details),
        checks=[_check(check) for check in _checks(details)],
        stages=stages,
        is_manipulated=details.get("manipulated") is True
        or any(stage.is_manipulated for stage in stages),
        is_stubbed=any(stage.is_stub for stage in stages),
        task=" ".join(_text(part) for part in _object(details.get("task")).values()),
        rest=shortened(json.dumps(rest, ensure_ascii=False, indent=1)) if rest else "",
    )


def decided_by(details: object) -> str:
    """The rule or check that made the verdict, in a few words; empty where that is not known.

    Rules that changed the verdict come first; else a judge's last stage; else the first check
    that did not pass; else all.
    """
    known = _object(details)
    rules = [_text(rule) for rule in _list(known.get("rules"))]
    if rules:
        return ", ".join(rules)
    if stages := stages_of(known):
        return stages[-1].label
    checks = _checks(known)
    for check in checks:
        if _text(check.get("verdict")) in _FAILING:
            return _text(check.get("name"))
    if len(checks) == 1:
        return _text(checks[0].get("name"))
    return _("all %(n)s checks") % {"n": len(checks)} if checks else ""


def _check(check: Mapping[str, object]) -> CheckShown:
    expected, actual = _shown(check.get("expected")), _shown(check.get("actual"))
    normalised = _shown(check.get("normalised"))
    verdict = _text(check.get("verdict"))
    return CheckShown(
        name=_text(check.get("name")),
        verdict=verdict,
        message=_shown(check.get("message")),
        normalised=normalised if normalised != actual else "",
        rules=[_text(rule) for rule in _list(check.get("rules"))],
        texts=difference(expected, actual, passed=verdict == "passed"),
    )


def _checks(details: Mapping[str, object]) -> list[Mapping[str, object]]:
    return [_object(check) for check in _list(details.get("checks")) if isinstance(check, dict)]


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


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
