"""Rows from records: which column a page can filter or draw by, and what it holds.

Every row keeps its record whole, so that it goes out again as it came in; a value that does
not fit its column (a number out of range) is left out of the column alone.
"""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from runs.models import Attachment, Event, Step
from runs.models.steps import BLOBS
from webagent.agents.running import SOURCE_FORMAT
from webagent.trajectory.actions import DIALECT, action_kind
from webagent.trajectory.bundles import blobs_of
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    EventRecord,
    GoalPart,
    LlmCall,
    Observation,
    Outcome,
    Record,
    RunRecord,
    StepRecord,
    TextPart,
)

MAX_INT = 2**31 - 1
MAX_BIGINT = 2**63 - 1
ANOMALIES = {Event.Kind.LOOP, Event.Kind.FALSE_COMPLETION}
EVALUATION_ROLE = "evaluation"
"""Role of attachments that hold what an evaluator said: for those who may see verdicts."""

_MAX_COST = Decimal(10**8)
_MICRO = Decimal("0.000001")
_NOTHING_SEEN = Observation()


def run_columns(run: RunRecord, task_goal: tuple[GoalPart, ...]) -> dict[str, Any]:
    """The columns of `Run` that follow from its record; the caller counts steps, resolves links."""
    return {
        "goal": goal_text(run.goal or task_goal),
        "seed": _fitting(run.seed, -MAX_BIGINT, MAX_BIGINT),
        "trial": _clamped(run.trial),
        "attempt": _clamped(run.attempt),
        "max_steps": _fitting(run.max_steps),
        "outcome": run.outcome.value,
        "end_reason": run.end_reason.value,
        "reward": _finite(run.reward),
        "final_answer": run.final_answer,
        "final_url": run.final_url,
        "error_message": run.error.message if run.error else "",
        "error_origin": run.error.origin.value if run.error else "",
        "fault": _fault(run),
        "evidence": run.evidence,
        "has_anomaly": any(event.kind in ANOMALIES for event in run.events),
        "input_tokens": _fitting(run.totals.input_tokens, 0, MAX_BIGINT),
        "output_tokens": _fitting(run.totals.output_tokens, 0, MAX_BIGINT),
        "cost": cost_column(run.totals.cost),
        "seconds": _seconds(run.totals.seconds, aware(run.started_at), aware(run.ended_at)),
        "started_at": aware(run.started_at),
        "ended_at": aware(run.ended_at),
        "source_format": run.source.format[:40],
        "superseded": run.superseded_by is not None,
        "record": plain_json(run),
    }


def _fault(run: RunRecord) -> str:
    """What of the infrastructure broke the run; other tools are believed only if they name it."""
    if run.error is None:
        return ""
    is_ours = run.source.format == SOURCE_FORMAT and run.outcome is Outcome.ERROR
    fault = run.error.blamed if is_ours else run.error.fault
    return fault.value if fault else ""


def step_row(run_id: UUID, step: StepRecord) -> Step:
    """The row of a step, not saved. Blobs are referred to by hash: store them first.

    Box and point are in pixels of the step's screenshot, as records give them; only an action
    that names a coordinate space of its own is converted.
    """
    before, after = step.before or _NOTHING_SEEN, step.after or _NOTHING_SEEN
    shown = after if step.before is None else before
    pointing = next((a for a in step.actions if a.point or _box(a)), None)
    width = shown.screenshot.width if shown.screenshot else None
    started_at = aware(step.started_at or (step.actions[0].started_at if step.actions else None))
    ended_at = aware(step.ended_at or (step.actions[-1].ended_at if step.actions else None))
    return Step(
        run_id=run_id,
        index=step.index,
        branch=step.branch,
        state=step.state.value,
        kind=action_kind(step.actions[0]).value if step.actions else "",
        action=action_text(step.actions),
        thought=step.thought or "",
        url=shown.url or "",
        title=shown.title or "",
        error="\n".join(action.error for action in step.actions if action.error),
        reward=_finite(step.reward),
        box=_storable(_box(pointing)),
        point=_storable(_point(pointing, width)),
        target=_target_words(step.actions),
        screenshot_id=_hash(before.screenshot),
        marked_screenshot_id=_hash(before.marked_screenshot),
        after_screenshot_id=_hash(after.screenshot),
        tree_id=_hash(before.a11y_tree),
        after_tree_id=_hash(after.a11y_tree),
        started_at=started_at,
        ended_at=ended_at,
        seconds=_seconds(step.seconds, started_at, ended_at),
        input_tokens=_total(call.input_tokens for call in step.llm_calls),
        output_tokens=_total(call.output_tokens for call in step.llm_calls),
        cost=_total_cost(step.llm_calls),
        record=plain_json(step),
    )


def event_rows(run_id: UUID, events: tuple[EventRecord, ...]) -> Iterator[Event]:
    """Marks that the run itself carries. One that ends before it begins is turned round."""
    for event in events:
        first, last = sorted((event.first_step, event.last_step))
        yield Event(
            run_id=run_id,
            kind=event.kind,
            first_step=min(first, MAX_INT),
            last_step=min(last, MAX_INT),
            detail=event.detail or {},
        )


def attachment_rows(run_id: UUID, record: Record, step: Step | None = None) -> Iterator[Attachment]:
    """Every blob of the record that the step's own columns do not hold, each once."""
    shown = {getattr(step, f"{name}_id") for name in BLOBS} if step else set()
    seen: set[tuple[str, str, str | None]] = set()
    for blob in blobs_of(record):
        key = (blob.sha256, blob.role, blob.name)
        if blob.sha256 in shown or key in seen:
            continue
        seen.add(key)
        yield Attachment(
            run_id=run_id,
            step_index=None if step is None else step.index,
            role=blob.role[:40],
            name=(blob.name or "")[:500],
            blob_id=blob.sha256,
        )


def goal_text(goal: tuple[GoalPart, ...]) -> str:
    """The words of a goal; its pictures are attachments of the run."""
    return "\n".join(part.text for part in goal if isinstance(part, TextPart))


def action_text(actions: tuple[ActionRecord, ...]) -> str:
    """What the agent wrote as its action or actions: text verbatim, a structure as a call."""
    between = "" if all(action.dialect == DIALECT for action in actions) else "\n"
    return between.join(
        action.raw if isinstance(action.raw, str) else _as_call(action) for action in actions
    )


def _as_call(action: ActionRecord) -> str:
    """`left_click(coordinate=[232, 191])`; the whole structure if nobody could read a name."""
    if action.name is None:
        return json.dumps(action.raw, ensure_ascii=False)
    args = [json.dumps(value, ensure_ascii=False) for value in action.args]
    named = (action.named_args or {}).items()
    args += [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in named]
    return f"{action.name}({', '.join(args)})"


def aware(at: datetime | None) -> datetime | None:
    """The time in UTC; one that names no zone is in UTC already."""
    return at.replace(tzinfo=UTC) if at and at.tzinfo is None else at


def cost_column(cost: Decimal | None) -> Decimal | None:
    """The cost to a millionth; None where it is unknown, negative or beyond the column."""
    if cost is None:
        return None
    try:
        rounded = cost.quantize(_MICRO)
        return rounded if 0 <= rounded < _MAX_COST else None
    except InvalidOperation:
        return None


def _fitting(value: int | None, low: int = 0, high: int = MAX_INT) -> int | None:
    return value if value is not None and low <= value <= high else None


def _clamped(value: int) -> int:
    return min(max(value, 1), MAX_INT)


def _hash(blob: BlobRecord | None) -> str | None:
    return blob.sha256 if blob else None


def _box(action: ActionRecord | None) -> list[float] | None:
    box = action.target.box if action and action.target else None
    return [box.x, box.y, box.width, box.height] if box else None


def _point(action: ActionRecord | None, picture_width: int | None) -> list[float] | None:
    if action is None or action.point is None:
        return None
    space = action.coordinate_space
    scale = picture_width / space.width if space and space.width > 0 and picture_width else 1.0
    return [action.point.x * scale, action.point.y * scale]


def _storable(lengths: list[float] | None) -> list[float] | None:
    return lengths if lengths and all(math.isfinite(length) for length in lengths) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _seconds(
    said: float | None, started_at: datetime | None, ended_at: datetime | None
) -> float | None:
    if said is not None:
        return _finite(said)
    return (ended_at - started_at).total_seconds() if started_at and ended_at else None


def _target_words(actions: tuple[ActionRecord, ...]) -> str:
    for target in (action.target for action in actions if action.target):
        quoted = f'"{target.text}"' if target.text else None
        words = " ".join(word for word in (target.role, quoted) if word)
        if words:
            return words
    return ""


def _total(values: Iterator[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return _fitting(sum(known)) if known else None


def _total_cost(calls: tuple[LlmCall, ...]) -> Decimal | None:
    known = [call.cost for call in calls if call.cost is not None]
    try:
        return cost_column(sum(known, Decimal(0))) if known else None
    except InvalidOperation:
        return None
