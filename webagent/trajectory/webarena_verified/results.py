"""The agent's answer and the evaluators' verdicts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from webagent.trajectory.untyped import flag, items, mapping, number, text, whole

Verdict = Literal["passed", "failed", "error"]
_VERDICTS: dict[str, Verdict] = {
    "success": "passed",
    "failure": "failed",
    "partial_match": "failed",
    "error": "error",
}
_CLAIMS_SUCCESS = "SUCCESS"
_TYPE_KEYS = ("task_type", "performed_operation")
_MOST_TEXT = 100_000
_INVERTED = "What is expected here must not happen."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent answered. Some answer in prose instead of the JSON that was asked for."""

    raw: str
    is_json: bool
    task_type: str | None = None
    status: str | None = None
    """In capitals, however it was written."""
    data: Any = None
    details: str | None = None

    @property
    def claims_success(self) -> bool | None:
        return None if self.status is None else self.status == _CLAIMS_SUCCESS

    @property
    def words(self) -> str | None:
        """The answer for people: the data that was asked for, or else all that was said."""
        if not self.is_json:
            return self.raw.strip() or None
        if self.data is not None:
            return json.dumps(self.data, ensure_ascii=False)[:_MOST_TEXT]
        return self.details or self.status

    @property
    def refusal(self) -> str | None:
        """Why the agent holds that the task cannot be done, if it does."""
        if self.status is None or self.claims_success:
            return None
        return ": ".join(part for part in (self.status, self.details) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    verdict: Verdict
    expected: Any
    actual: Any
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One task's evaluation. `error` says that the evaluator failed, not the agent."""

    status: str
    verdict: Verdict
    score: float | None
    checks: tuple[Check, ...]
    message: str | None
    version: str
    evaluator_checksum: str | None
    data_checksum: str | None
    task_id: int | None
    intent_template_id: int | None
    sites: tuple[str, ...]
    task_revision: int | None


def read_answer(content: str) -> Answer:
    """The answer in `agent_response.json`, which need not be JSON."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return Answer(raw=content, is_json=False)
    if not isinstance(value, dict):
        return Answer(raw=content, is_json=False)
    kind = next((found for key in _TYPE_KEYS if (found := text(value.get(key)))), None)
    status = text(value.get("status"))
    return Answer(
        raw=content,
        is_json=True,
        task_type=kind.upper() if kind else None,
        status=status.upper() if status else None,
        data=value.get("retrieved_data"),
        details=text(value.get("error_details")),
    )


def read_result(value: Any) -> Result | None:
    """The evaluation in `eval_result.json`; None if it is none."""
    result = mapping(value)
    status = (text(result.get("status")) or "").lower()
    if status not in _VERDICTS or not isinstance(result.get("evaluators_results"), list):
        return None
    checks = [check for item in result["evaluators_results"] for check in _checks(mapping(item))]
    errors = [check.message for check in checks if check.verdict == "error" and check.message]
    return Result(
        status=status,
        verdict=_VERDICTS[status],
        score=number(result.get("score")),
        checks=tuple(checks),
        message=text(result.get("error_msg")) or (errors[0] if errors else None),
        version=text(result.get("webarena_verified_version")) or "unknown",
        evaluator_checksum=text(result.get("webarena_verified_evaluator_checksum")),
        data_checksum=text(result.get("webarena_verified_data_checksum")),
        task_id=whole(result.get("task_id")),
        intent_template_id=whole(result.get("intent_template_id")),
        sites=tuple(site for site in items(result.get("sites")) if isinstance(site, str)),
        task_revision=whole(result.get("task_revision")),
    )


def _checks(item: dict[str, Any]) -> list[Check]:
    """One evaluator's check, and one for each of its assertions."""
    name = text(item.get("evaluator_name")) or "evaluator"
    actual = item.get("actual_normalized")
    error = text(item.get("error_msg"))
    inverted = _INVERTED if flag(item.get("should_not_exist")) else None
    first = Check(
        name=name,
        verdict=_VERDICTS.get((text(item.get("status")) or "").lower(), "error"),
        expected=item.get("expected"),
        actual=item.get("actual") if actual is None else actual,
        message="\n".join(filter(None, (inverted, error))) or None,
    )
    found = [first]
    for each in map(mapping, items(item.get("assertions"))):
        said = [line for line in items(each.get("assertion_msgs")) if isinstance(line, str)]
        if error := text(each.get("error_msg")):
            said.append(error)
        found.append(
            Check(
                name=f"{name}: {text(each.get('assertion_name')) or 'assertion'}",
                verdict=_VERDICTS.get((text(each.get("status")) or "").lower(), "error"),
                expected=None,
                actual=None,
                message="\n".join(said) or None,
            )
        )
    return found
