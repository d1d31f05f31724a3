"""How a run of browser-use ended: it claims a success, and nobody else says one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.browser_use.generations import is_last_word, results_of
from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, Outcome
from webagent.trajectory.untyped import flag, mapping, text

_STEP_LIMIT = re.compile(r"maximum steps", re.IGNORECASE)
_PROVIDER = re.compile(
    r"\b(?:LLM|API|rate.?limit|quota|endpoint|connection|connect|timed? ?out|unauthorized"
    r"|authentication|api.?key|overloaded|service unavailable|\b(?:429|50\d)\b)",
    re.IGNORECASE,
)
_ERROR_CHARS = 100_000


@dataclass(frozen=True, kw_only=True)
class Ending:
    outcome: Outcome
    end_reason: EndReason
    claimed_success: bool | None = None
    final_answer: str | None = None
    error: ErrorRecord | None = None
    last_words: tuple[str, ...] = ()
    """What the harness said when it stopped."""


def ending(history: list[dict[str, Any]]) -> Ending:
    """How it ended. A run that says it is done has no outcome: that is its own word alone."""
    said = tuple(words for item in history if is_last_word(item) for words in _errors(item))
    steps = [item for item in history if not is_last_word(item)]
    last = results_of(steps[-1])[-1:] if steps else []
    if last and flag(last[0].get("is_done")):
        return Ending(
            outcome=Outcome.UNKNOWN,
            end_reason=EndReason.AGENT_STOPPED,
            claimed_success=flag(last[0].get("success")),
            final_answer=text(last[0].get("extracted_content")),
            last_words=said,
        )
    if any(_STEP_LIMIT.search(words) for words in said):
        return Ending(outcome=Outcome.INCOMPLETE, end_reason=EndReason.MAX_STEPS, last_words=said)
    errors = _errors(steps[-1]) if steps else []
    if errors and not steps[-1].get("model_output"):
        is_provider = bool(_PROVIDER.search(errors[-1].partition("\n")[0]))
        return Ending(
            outcome=Outcome.ERROR if is_provider else Outcome.INCOMPLETE,
            end_reason=EndReason.EXCEPTION,
            error=ErrorRecord(
                message=errors[-1][:_ERROR_CHARS],
                origin=ErrorOrigin.MODEL if is_provider else ErrorOrigin.AGENT,
            ),
            last_words=said,
        )
    never = EndReason.UNKNOWN if steps else EndReason.NEVER_STARTED
    return Ending(outcome=Outcome.INCOMPLETE, end_reason=never, last_words=said)


def judgement(history: list[dict[str, Any]]) -> dict[str, Any]:
    """What browser-use's own judge said of the run; empty where it was not asked."""
    for item in reversed(history):
        for result in reversed(results_of(item)):
            if said := mapping(result.get("judgement")):
                return said
    return {}


def _errors(item: dict[str, Any]) -> list[str]:
    return [words for result in results_of(item) if (words := text(result.get("error")))]
