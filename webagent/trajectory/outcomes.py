"""Which of several actions an error belongs to."""

from __future__ import annotations

from typing import Any

from webagent.trajectory.records import ActionRecord


def with_outcome(actions: tuple[ActionRecord, ...], error: str | None) -> tuple[ActionRecord, ...]:
    """The actions with their status, told one error for all of them, or that there was none.

    Of several, the one that the error names failed; where it names none, the last: those before
    it may or may not have been done.
    """
    if error is None:
        return tuple(action.model_copy(update={"status": "ok"}) for action in actions)
    named = next((i for i, action in enumerate(actions) if _names(error, action)), None)
    failed = len(actions) - 1 if named is None else named
    outcomes: list[dict[str, Any]] = [
        {"status": "ok" if named is not None and index < failed else "unknown"}
        for index in range(len(actions))
    ]
    if outcomes:
        outcomes[failed] = {"status": "error", "error": error}
    return tuple(
        action.model_copy(update=outcome) for action, outcome in zip(actions, outcomes, strict=True)
    )


def _names(error: str, action: ActionRecord) -> bool:
    bid = action.target.bid if action.target else None
    return bool(bid) and (f'"{bid}"' in error or f"'{bid}'" in error)
