"""How a run ended and what came of it: exceptions are never failures, kills never successes."""

import re
from typing import Any

from webagent.trajectory.files.assembling import Ending, dollars, outcome_of
from webagent.trajectory.formats.agentlab.folders import RunFiles
from webagent.trajectory.formats.agentlab.stepfiles import StepFile
from webagent.trajectory.records import (
    ChatMessage,
    EndReason,
    ErrorOrigin,
    ErrorRecord,
    Outcome,
    Totals,
)
from webagent.trajectory.values import cost, count, flag, number, text, total

_STACK_CHARS = 100_000
_LOGGED_ERROR = re.compile(
    r"^\S+ \S+ - \d+ - \S*experiments\.loop - (?:WARNING|ERROR) - "
    r"(?P<message>Exception uncaught by agent or environment in task .*?)"
    r"(?=^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - |\Z)",
    re.MULTILINE | re.DOTALL,
)
_TRACEBACK = "Traceback (most recent call last):"
_MODEL_WORDS = re.compile(
    r"\b(LLM|openai|anthropic|litellm|azure|bedrock|vllm|tiktoken|rate.?limit|chat/completions"
    r"|APIError|APIConnectionError|AuthenticationError|context.?length)",
    re.IGNORECASE,
)
_ENVIRONMENT_FRAMES = ("make_env(", "from_reset(", "from_step(", "env.step(", "env.reset(")
_HARNESS_FRAMES = ("make_stats(", "save_step_info(")
_AGENT_FRAMES = ("from_action(", "get_action(", "make_agent(")


def ending(summary: dict[str, Any], last: StepFile | None, started: bool, log: str) -> Ending:
    """How the run ended.

    Args:
        summary: `summary_info.json`; empty if there is none.
        last: the last step file, if it could be read.
        started: whether anything at all was written after `exp_args.pkl`.
        log: `experiment.log`.
    """
    if not summary:
        return _without_summary(last, started, log)
    reward = number(summary.get("cum_reward"), "cum_reward")
    if message := text(summary.get("err_msg")):
        error = _error(message, text(summary.get("stack_trace")))
        return Ending(Outcome.ERROR, EndReason.EXCEPTION, reward, error)
    outcome = outcome_of(reward)
    if flag(summary.get("terminated")):
        return Ending(outcome, EndReason.TASK_ENDED, reward)
    if flag(summary.get("truncated")):
        gave_up = last is not None and last.gave_up
        reason = EndReason.AGENT_GAVE_UP if gave_up else EndReason.MAX_STEPS
        return Ending(outcome, reason, reward)
    return Ending(Outcome.INCOMPLETE, reward=reward)


def _without_summary(last: StepFile | None, started: bool, log: str) -> Ending:
    """AgentLab calls all of these incomplete; the steps and the log say what happened."""
    error = _logged_error(log)
    if not started:
        reason = EndReason.NEVER_STARTED
    elif error:
        reason = EndReason.EXCEPTION
    elif last is not None and last.terminated:
        reason = EndReason.TASK_ENDED
    elif last is not None and last.gave_up:
        reason = EndReason.AGENT_GAVE_UP
    elif last is not None and last.truncated:
        reason = EndReason.MAX_STEPS
    else:
        reason = EndReason.KILLED
    return Ending(Outcome.INCOMPLETE, reason, error=error)


def _logged_error(log: str) -> ErrorRecord | None:
    """The last exception that the log tells of."""
    if "Exception uncaught by" not in log:
        return None
    found = None
    for match in _LOGGED_ERROR.finditer(log):
        found = match["message"].strip()
    if found is None:
        return None
    message, traceback, stack = found.partition(_TRACEBACK)
    return _error(message.strip(), (traceback + stack).strip() or None)


def _error(message: str, stack: str | None) -> ErrorRecord:
    return ErrorRecord(
        message=message[:_STACK_CHARS],
        stack=stack[:_STACK_CHARS] if stack else None,
        origin=_origin(message, stack),
    )


def _origin(message: str, stack: str | None) -> ErrorOrigin:
    """Who was at work: the frame that AgentLab's loop called, and what the words say."""
    frames = stack or ""
    if any(frame in frames for frame in _ENVIRONMENT_FRAMES):
        return ErrorOrigin.ENVIRONMENT
    if any(frame in frames for frame in _HARNESS_FRAMES):
        return ErrorOrigin.HARNESS
    if _MODEL_WORDS.search(message):
        return ErrorOrigin.MODEL
    if any(frame in frames for frame in _AGENT_FRAMES):
        return ErrorOrigin.AGENT
    return ErrorOrigin.UNKNOWN


def check_count(files: RunFiles, summary: dict[str, Any], where: str) -> None:
    """Say if the summary knows of more steps than there are, or a picture is of none of them."""
    claimed, last = count(summary.get("n_steps"), "n_steps"), max(files.folder.steps, default=-1)
    if claimed is not None and claimed > max(last, 0):
        why = f"the summary counts {claimed}, the last file is step {last}"
        files.inventory.miss("step", where, why)
    for kind in (files.folder.screenshots, files.folder.marked):
        for step, path in sorted(kind.items()):
            if step > last:
                files.inventory.miss("screenshot", path, "its step is not here")


def reported_totals(summary: dict[str, Any], every: list[dict[str, Any]]) -> Totals:
    """Sums as the summary has them; where it is missing, over the steps' statistics."""

    def summed(key: str) -> float | None:
        name = f"stats.cum_{key}"
        claimed = number(summary.get(name), name)
        return total(number(s.get(key)) for s in every) if claimed is None else claimed

    retries = summed("n_retry")
    calls = summed("n_llm_calls")
    if calls is None and retries is not None:
        calls = retries + sum("input_tokens" in stats for stats in every)
    return Totals(
        input_tokens=count(summed("input_tokens"), "input_tokens"),
        output_tokens=count(summed("output_tokens"), "output_tokens"),
        **dollars(cost(summed("cost"), "cost")),
        llm_calls=count(calls),
        retries=count(retries),
        seconds=summed("step_elapsed"),
    )


_GREETING_ROLE, _INFEASIBLE_ROLE = "assistant", "infeasible"


def said_to_user(messages: tuple[ChatMessage, ...] | list[ChatMessage]) -> list[str]:
    """What the agent told the user: BrowserGym's own greeting, the first message, is not."""
    own = messages[1:] if messages and messages[0].role == _GREETING_ROLE else messages
    return [message.text for message in own if message.role == _GREETING_ROLE]


def claimed_infeasible(messages: tuple[ChatMessage, ...]) -> str | None:
    """Why the agent called the task infeasible, if it did."""
    reasons = [message.text for message in messages if message.role == _INFEASIBLE_ROLE]
    return reasons[-1] if reasons else None
