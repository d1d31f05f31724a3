"""Which folders hold WebArena results, what belongs to which task, and what logs say of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from webagent.trajectory.files.assembling import Ending
from webagent.trajectory.files.trees import Tree, TreeError, given_name, head_of, json_of, read_file
from webagent.trajectory.formats.webarena.render import early_stop, is_render, stop_answer
from webagent.trajectory.intake import BoundError, Bounds
from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, Outcome, StepRecord
from webagent.trajectory.texts import legible
from webagent.trajectory.values import mapping

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
            for name in ("error", "error_kind", "stack", "started", "ended"):
                setattr(known, name, getattr(known, name) or getattr(said, name))
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
        return Ending(Outcome.ERROR, EndReason.EXCEPTION, error=error)
    reason = _reason(steps)
    if logged is None or logged.verdict is None:
        if reason is EndReason.UNKNOWN:
            return Ending(Outcome.INCOMPLETE, EndReason.KILLED)
        return Ending(Outcome.UNKNOWN, reason)
    # The log tells passed and failed by whether the score is 1, and knows no other scores.
    if logged.verdict == "PASS":
        return Ending(Outcome.SUCCESS, reason, 1.0)
    return Ending(Outcome.FAILURE, reason, 0.0)


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


SETTINGS = "config.json"
LISTED_LOGS = "log_files.txt"
"""Names of the logs, one a line: the runner writes them elsewhere."""

_RENDER = re.compile(r"^render_(?P<task>[^/]{1,150})\.html$")
_LOG = re.compile(r"^(?:log_files/)?[^/]+\.(?:log|txt)$")
_TASK = re.compile(r"^(?:[^/]+/)?(?P<task>[^/]+)\.json$")
_TRACE = re.compile(r"^traces/(?P<task>[^/]+)\.zip$")
_HEAD_BYTES = 4_096
_LIST_BYTES = 1 << 16
_MOST_LOGS = 100


@dataclass(slots=True)
class ResultFolder:
    """One result folder. Paths are relative to it."""

    path: str
    name: str
    renders: dict[str, str] = field(default_factory=dict)
    """Path -> name in the tree, of the render files alone."""
    files: dict[str, str] = field(default_factory=dict)
    """The same of all that belongs to the folder's runs."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Task -> path of its configuration."""

    def place(self, path: str) -> str:
        """The path inside the tree."""
        return f"{self.path}/{path}".lstrip("/")

    def document(self, tree: Tree, path: str | None, bounds: Bounds) -> dict[str, Any]:
        """The JSON object under a path; empty if it is not there."""
        name = self.files.get(path or "")
        try:
            return mapping(json_of(tree, name, bounds)) if name else {}
        except ValueError:
            return {}

    def logged(self, tree: Tree, bounds: Bounds) -> tuple[dict[str, Logged], dict[str, str]]:
        """What all logs say, by task; and of logs that cannot be read, why."""
        logs, unread = [], {}
        for path, name in sorted(self.files.items()):
            if not _LOG.match(path):
                continue
            try:
                text, why = legible(read_file(tree, name, bounds.json_bytes))
            except (BoundError, TreeError) as error:
                text, why = "", str(error)
            if why:
                unread[path] = why
            if any(mark in text for mark in _MARKS):
                logs.append(read_log(text))
        return merged(logs), unread


def find_result_folders(tree: Tree) -> list[ResultFolder]:
    """Every folder with a render file in it, at any depth."""
    folders: dict[str, ResultFolder] = {}
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if _RENDER.match(last) and is_render(_head(tree, name)):
            shown = prefix.rpartition("/")[2] or given_name(tree)
            folder = folders.setdefault(prefix, ResultFolder(prefix, shown))
            folder.renders[last] = folder.files[last] = name
    for name in tree.names if folders else ():
        parent, _, last = name.rpartition("/")
        above, _, kind = parent.rpartition("/")
        for prefix, path in ((parent, last), (above, f"{kind}/{last}")):
            holds = folders.get(prefix) if path != f"/{last}" else None
            if holds is not None and _belongs(path, holds):
                holds.files[path] = name
                task = _TASK.match(path)
                if task and path != SETTINGS:
                    holds.tasks.setdefault(task["task"], path)
    listing = [folder for folder in folders.values() if LISTED_LOGS in folder.files]
    by_ending = _by_ending(tree.names) if listing else {}
    for folder in listing:
        _add_listed_logs(tree, folder, by_ending)
    return [folders[path] for path in sorted(folders)]


def _by_ending(names: Iterable[str]) -> dict[str, str]:
    """The first name that ends with these last parts of a path."""
    found: dict[str, str] = {}
    for name in names:
        ending = name
        while ending:
            found.setdefault(ending, name)
            _, _, ending = ending.partition("/")
    return found


def _add_listed_logs(tree: Tree, folder: ResultFolder, by_ending: Mapping[str, str]) -> None:
    """Logs that the folder names and that lie elsewhere in the upload."""
    lines = _head(tree, folder.files[LISTED_LOGS], _LIST_BYTES).splitlines()
    for line in lines[:_MOST_LOGS]:
        named = line.strip().replace("\\", "/").removeprefix("./")
        path = f"log_files/{named.rpartition('/')[2]}"
        if path in folder.files or not _LOG.match(path):
            continue
        there = by_ending.get(named)
        if there is not None:
            folder.files[path] = there


def _belongs(path: str, folder: ResultFolder) -> bool:
    """Whether a file beside render files says something of their runs."""
    if path == SETTINGS or _LOG.match(path):
        return True
    task = _TRACE.match(path) or _TASK.match(path)
    return bool(task) and f"render_{task['task']}.html" in folder.renders if task else False


def _head(tree: Tree, name: str, limit: int = _HEAD_BYTES) -> str:
    return head_of(tree, name, limit).decode("utf-8", "replace").replace("\r\n", "\n")
