"""Which folders are tasks' output, with the agent's answer and the evaluators' verdicts."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from webagent.trajectory.bundles import UNKNOWN
from webagent.trajectory.files.recognition import folders_with, outline
from webagent.trajectory.files.trees import Tree, given_name
from webagent.trajectory.values import flag, items, mapping, text
from webagent.trajectory.verdict_records import CheckRecord

RESPONSE, RESULT, SUMMARY, LOG = (
    "agent_response.json",
    "eval_result.json",
    "eval_results.json",
    "eval_log.txt",
)
LONE_HAR = "network.har"
"""What a HAR by itself is called here."""
SETTINGS = "config.json"
"""Beside the tasks' folders; may give their files other names."""
_HAR = re.compile(r"^[^/]+\.har$")
_ZIP = re.compile(r"^[^/]+\.zip$", re.IGNORECASE)
_NAMES = {
    RESPONSE: "agent_response_file_name",
    RESULT: "eval_result_file_name",
    LONE_HAR: "trace_file_name",
}


@dataclass(slots=True)
class TaskFolder:
    """One task's output. Paths are relative to it; answer and result bear their usual names."""

    path: str
    name: str
    files: dict[str, str] = field(default_factory=dict)
    is_lone: bool = False
    """Whether it is a HAR by itself, of whatever tool."""

    @property
    def har(self) -> str | None:
        return next((path for path in sorted(self.files) if _HAR.match(path)), None)

    @property
    def trace(self) -> str | None:
        """A Playwright trace, which may stand in place of a HAR."""
        return next((path for path in sorted(self.files) if _ZIP.match(path)), None)


def find_task_folders(tree: Tree) -> list[TaskFolder]:
    """Folders that hold a response or a result; and siblings of those that hold a HAR alone.

    One HAR and nothing else is a folder by itself.
    """
    if (lone := _lone_har(tree)) is not None:
        return [lone]
    given = _given_names(tree)
    sure: set[str] = set()
    with_har: set[str] = set()
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        usual = given.get(prefix.rpartition("/")[0] if prefix else None, {}).get(last, last)
        if usual == RESPONSE or (last.endswith(".json") and _is_result(tree, name)):
            sure.add(prefix)
        elif _HAR.match(last) or usual == LONE_HAR:
            with_har.add(prefix)
    parents = {prefix.rpartition("/")[0] for prefix in sure}
    sure |= {prefix for prefix in with_har if prefix and prefix.rpartition("/")[0] in parents}
    folders = []
    in_sure = folders_with(tree, lambda name, _: name.rpartition("/")[0] in sure, depth=0)
    for prefix, found in in_sure.items():
        names = given.get(prefix.rpartition("/")[0] if prefix else None, {})
        files = {_usual_name(tree, name, names): name for name in found.values()}
        folders.append(TaskFolder(prefix, prefix.rpartition("/")[2] or given_name(tree), files))
    return folders


def _given_names(tree: Tree) -> dict[str | None, dict[str, str]]:
    """Folder with settings -> other name of a file in the folders below -> its usual one."""
    found: dict[str | None, dict[str, str]] = {}
    for name in tree.names:
        prefix, _, last = name.rpartition("/")
        if last == SETTINGS:
            texts = outline(tree, name).texts
            found[prefix] = {texts[key]: usual for usual, key in _NAMES.items() if key in texts}
    return found


def _usual_name(tree: Tree, name: str, given: dict[str, str]) -> str:
    """What a task's file would be called if nobody had given it another name."""
    last = name.rpartition("/")[2]
    if _ZIP.match(last):
        return last
    if last.endswith(".json") and _is_result(tree, name):
        return RESULT
    return given.get(last, last)


def _is_result(tree: Tree, name: str) -> bool:
    head = outline(tree, name)
    return head.has("evaluators_results") and (name.endswith(RESULT) or head.has("task_id"))


def _lone_har(tree: Tree) -> TaskFolder | None:
    """The only file there is, if it is a HAR by its content, whatever its name."""
    if len(tree.names) != 1:
        return None
    (name,) = tree.names
    found = outline(tree, name)
    if not found.has("log") or "entries" not in found.inner:
        return None
    folder, _, last = name.rpartition("/")
    label = last.removesuffix(".har").removesuffix(".json") or given_name(tree)
    return TaskFolder(folder, label, {LONE_HAR: name}, is_lone=True)


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


@dataclass(frozen=True, slots=True)
class Result:
    """One task's evaluation. The verdict `error` says that the evaluator failed, not the agent."""

    content: dict[str, Any]
    """All that stands in its file."""
    verdict: Verdict
    checks: tuple[CheckRecord, ...]
    """Verbatim, secrets and all."""

    @property
    def version(self) -> str:
        """Of the evaluator's code."""
        return text(self.content.get("webarena_verified_version")) or UNKNOWN

    @property
    def message(self) -> str | None:
        """What went wrong, as a whole or in the first check that failed."""
        errors = (check.message for check in self.checks if check.verdict == "error")
        return text(self.content.get("error_msg")) or next(filter(None, errors), None)


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
    said = mapping(value)
    verdict = _VERDICTS.get((text(said.get("status")) or "").lower())
    results = said.get("evaluators_results")
    if verdict is None or not isinstance(results, list):
        return None
    checks = tuple(check for item in results for check in _checks(mapping(item)))
    return Result(said, verdict, checks)


def _checks(item: dict[str, Any]) -> Iterator[CheckRecord]:
    """One evaluator's check, and one for each of its assertions."""
    name = text(item.get("evaluator_name")) or "evaluator"
    actual = item.get("actual_normalized")
    inverted = _INVERTED if flag(item.get("should_not_exist")) else None
    yield CheckRecord(
        name=name,
        verdict=_verdict(item),
        expected=item.get("expected"),
        actual=item.get("actual") if actual is None else actual,
        message="\n".join(filter(None, (inverted, text(item.get("error_msg"))))) or None,
    )
    for each in map(mapping, items(item.get("assertions"))):
        said = [line for line in items(each.get("assertion_msgs")) if isinstance(line, str)]
        said += filter(None, [text(each.get("error_msg"))])
        yield CheckRecord(
            name=f"{name}: {text(each.get('assertion_name')) or 'assertion'}",
            verdict=_verdict(each),
            message="\n".join(said) or None,
        )


def _verdict(said: dict[str, Any]) -> Verdict:
    return _VERDICTS.get((text(said.get("status")) or "").lower(), "error")
