"""What WebArena's logs say of each task: passed, failed, or broken off by an exception."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from webagent.trajectory.assembling import Ending
from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, Outcome, StepRecord
from webagent.trajectory.webarena.steps import early_stop, stop_answer

_STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - \w+ - ")
_CONFIG = re.compile(r"\[Config file\]: (?P<path>.*\S)")
_RESULT = re.compile(r"\[Result\] \((?P<verdict>PASS|FAIL)\) (?P<path>.*\S)")
_BROKEN = re.compile(r"\[(?P<kind>Unhandled Error|OpenAI Error)\] ?(?P<what>.*)$")
_MARKS = ("[Config file]:", "[Result] (")
_MARK = re.compile(r"\[(?:Config file|Intent|Result|Unhandled Error|OpenAI Error)\]")
_LINE_CHARS = 20_000
_LINES_PER_TASK = 2_000


@dataclass(slots=True)
class Logged:
    """The lines about one task, and what they say. Times are the machine's own, without a zone."""

    verdict: Literal["PASS", "FAIL"] | None = None
    error: str | None = None
    error_kind: str | None = None
    stack: str | None = None
    started: str | None = None
    ended: str | None = None
    lines: list[str] = field(default_factory=list)


def is_log(text: str) -> bool:
    """Whether a text file is a log (or an `error.txt`) of WebArena's runner."""
    return any(mark in text for mark in _MARKS)


def read_log(text: str) -> dict[str, Logged]:
    """What is said of each task, by the name of its configuration file without `.json`.

    A task that stands there several times was run again: its last lines count.
    """
    found: dict[str, Logged] = {}
    current: Logged | None = None
    stack: list[str] = []
    for line in text.splitlines():
        line = line[:_LINE_CHARS]
        mark = _MARK.search(line)
        at = mark.start() if mark else len(line)
        if config := _CONFIG.match(line, at):
            _close(current, stack)
            current = found[_task_of(config["path"])] = Logged()
        elif result := _RESULT.match(line, at):
            current = found.setdefault(_task_of(result["path"]), current or Logged())
        if current is None:
            continue
        if len(current.lines) < _LINES_PER_TASK:
            current.lines.append(line)
        _note(current, line, at, stack)
    _close(current, stack)
    return found


def merged(logs: list[dict[str, Logged]]) -> dict[str, Logged]:
    """What several logs say together; a traceback in one belongs to an error in another."""
    found: dict[str, Logged] = {}
    for log in logs:
        for task, said in log.items():
            known = found.setdefault(task, Logged())
            known.verdict = said.verdict or known.verdict
            known.error = known.error or said.error
            known.error_kind = known.error_kind or said.error_kind
            known.stack = known.stack or said.stack
            known.started = known.started or said.started
            known.ended = known.ended or said.ended
            known.lines += said.lines
    return found


def _note(current: Logged, line: str, at: int, stack: list[str]) -> None:
    """`at` is where the line's first mark stands: an intent or an error may quote others."""
    stamp = _STAMP.match(line)
    if stamp:
        current.started = current.started or stamp[1]
        current.ended = stamp[1]
    if result := _RESULT.match(line, at):
        current.verdict = "PASS" if result["verdict"] == "PASS" else "FAIL"
    elif broken := _BROKEN.match(line, at):
        current.error, current.error_kind = broken["what"].strip() or broken["kind"], broken["kind"]
    elif stack or line.startswith("Traceback (most recent call last):"):
        stack.append(line)


def _close(current: Logged | None, stack: list[str]) -> None:
    if current is not None and stack:
        current.stack = "\n".join(stack)
    stack.clear()


def _task_of(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".json")


_MAX_STEPS = "Reach max steps"
_MODEL_ERRORS = "OpenAI Error"
_ENVIRONMENT_WORDS = ("playwright", "net::", "Timeout", "Target closed", "Page.")
_MESSAGE_CHARS = 100_000


def ending(steps: Sequence[StepRecord], logged: Logged | None) -> Ending:
    """How the run ended. A logged exception is an error, whatever came before it."""
    if logged is not None and logged.verdict is None and logged.error:
        error = ErrorRecord(
            message=logged.error[:_MESSAGE_CHARS],
            stack=(logged.stack or "")[:_MESSAGE_CHARS] or None,
            origin=_origin(logged),
        )
        return Ending(outcome=Outcome.ERROR, end_reason=EndReason.EXCEPTION, error=error)
    reason = _reason(steps)
    if logged is None or logged.verdict is None:
        ended = reason is not EndReason.UNKNOWN
        outcome = Outcome.UNKNOWN if ended else Outcome.INCOMPLETE
        return Ending(outcome=outcome, end_reason=reason if ended else EndReason.KILLED)
    # The log tells passed and failed by whether the score is 1, and knows no other scores.
    passed = logged.verdict == "PASS"
    return Ending(
        outcome=Outcome.SUCCESS if passed else Outcome.FAILURE,
        end_reason=reason,
        reward=1.0 if passed else 0.0,
    )


def _reason(steps: Sequence[StepRecord]) -> EndReason:
    last = steps[-1].actions[-1] if steps and steps[-1].actions else None
    if why := early_stop(last):
        return EndReason.MAX_STEPS if why.startswith(_MAX_STEPS) else EndReason.HARNESS_LOOP_STOP
    if stop_answer(last) is not None or (last is not None and last.name == "stop"):
        return EndReason.AGENT_STOPPED
    return EndReason.UNKNOWN


def _origin(logged: Logged) -> ErrorOrigin:
    if logged.error_kind == _MODEL_ERRORS:
        return ErrorOrigin.MODEL
    said = f"{logged.error or ''}\n{logged.stack or ''}"
    if any(word in said for word in _ENVIRONMENT_WORDS):
        return ErrorOrigin.ENVIRONMENT
    return ErrorOrigin.UNKNOWN
