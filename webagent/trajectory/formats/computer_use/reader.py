"""Read computer-use dumps, one run per file: which files are message logs, and what is in them."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from webagent.trajectory.bundles import RunBundle, task_record
from webagent.trajectory.files.assembling import (
    RunFiles,
    experiment_above,
    goal_pictures,
    model_names,
    task_name_of,
)
from webagent.trajectory.files.lines import BROKEN, json_values
from webagent.trajectory.files.originals import kept_pictures
from webagent.trajectory.files.recognition import PlacesReader, RunPlace, outline
from webagent.trajectory.files.run_files import BLOB_KEY
from webagent.trajectory.files.trees import Tree, read_file, windows_of
from webagent.trajectory.formats.computer_use.steps import display_of, llm_call, step_records
from webagent.trajectory.formats.computer_use.turns import (
    OPENAI,
    Conversation,
    Dump,
    read_conversation,
)
from webagent.trajectory.intake import CUT_SHORT, Bounds, InputError
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EndReason,
    EnvironmentRecord,
    TaskRecord,
    Totals,
    sums_of,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name, decoded
from webagent.trajectory.values import count, items, mapping, not_empty, text, total

_LISTS = ("messages", "items", "input", "output")
_FIRST_KEYS = ("role", "type", "output", "content")
_COMPUTER_CALL = re.compile(rb'"type"\s{0,9}:\s{0,9}"computer_call"')
_TOOL_USE = re.compile(rb'"type"\s{0,9}:\s{0,9}"tool_use"')
_COMPUTER = re.compile(
    rb'"name"\s{0,9}:\s{0,9}"computer"|"computer_\d{8}"'
    rb'|"toolset_name"\s{0,9}:\s{0,9}"(?:computer|browser)"'
)
_LONGEST_SIGN = 64


def read_dump(tree: Tree, name: str, bounds: Bounds) -> Dump:
    """The messages of one file, in whatever wrapping.

    Raises:
        ValueError: no JSON, too large, or no messages in it.
    """
    content = decoded(read_file(tree, name, bounds.json_bytes))
    try:
        value = json.loads(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError:
        return _from_lines(content)
    if isinstance(value, list):
        return Dump(value)
    document = mapping(value)
    messages = _messages(document)
    if messages is None:
        raise ValueError(f"none of {', '.join(_LISTS)} is a list")
    return Dump(
        messages,
        model=text(document.get("model")),
        system=text(document.get("system")) or text(document.get("instructions")),
        tools=items(document.get("tools")),
        usage=document.get("usage"),
    )


def _messages(document: dict[str, Any]) -> list[Any] | None:
    """The list of messages; of a request with its response, what was sent and what came back."""
    sent, came = document.get("input"), document.get("output")
    if isinstance(sent, str) and sent and isinstance(came, list):
        return [{"role": "user", "content": sent}, *came]
    if isinstance(sent, list) and isinstance(came, list):
        return [*sent, *came]
    return next(
        (items(document[key]) for key in _LISTS if isinstance(document.get(key), list)), None
    )


def _from_lines(content: str) -> Dump:
    """One message or one whole response a line.

    Raises:
        ValueError: no line is JSON, or the last one is cut.
    """
    found = Dump([])
    value: Any = None
    for value in json_values(content.split("\n")):
        if value is BROKEN:
            found.bad_lines += 1
            continue
        found.messages.append(value)
        found.model = found.model or text(mapping(value).get("model"))
        found.tools = found.tools or items(mapping(value).get("tools"))
    if not found.messages:
        raise ValueError("not readable as JSON")
    if value is BROKEN:
        raise ValueError(CUT_SHORT)
    return found


def _may_be(tree: Tree, name: str) -> bool:
    head = outline(tree, name)
    if head.kind == "array":
        return any(key in head.keys for key in _FIRST_KEYS)
    return head.kind == "object" and any(key in head.keys for key in (*_LISTS, "content"))


def _uses_computer(tree: Tree, name: str, most: int) -> bool:
    """Whether a computer is called somewhere: the task's own picture may stand long before."""
    tool_use = computer = False
    for words in windows_of(tree, name, _LONGEST_SIGN, most):
        tool_use = tool_use or bool(_TOOL_USE.search(words))
        computer = computer or bool(_COMPUTER.search(words))
        if _COMPUTER_CALL.search(words) or (tool_use and computer):
            return True
    return False


FORMAT = "computer_use"


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace]:
    for name in tree.names:
        if (
            name.endswith((".json", ".jsonl"))
            and _may_be(tree, name)
            and _uses_computer(tree, name, bounds.json_bytes)
        ):
            read = partial(_bundle, name)
            yield RunPlace(path=name, files={name: name}, own=(name,), file=name, read=read)


COMPUTER_USE = PlacesReader(FORMAT, "*.json, *.jsonl: computer_call, tool_use", _places)


def _bundle(name: str, files: RunFiles) -> RunBundle:
    try:
        dump = read_dump(files.tree, name, files.bounds)
    except ValueError as error:
        raise InputError("", str(error), file=name) from error
    if dump.bad_lines:
        files.note("line", name, f"{dump.bad_lines} lines are no JSON")
    for part in ("messages", "usage", "tools"):
        files.check_numbers(getattr(dump, part), part)
    pictures: dict[str, BlobRecord] = {}
    stripped = _stripped(files, dump.messages, pictures, name, files.bounds.json_depth)
    place = name.removesuffix(name.rpartition("/")[2])
    kept_pictures(files, place, stripped, pictures)
    files.redactor = Redactor(read_conversation(stripped).goal)
    messages = files.clean_json(stripped)
    talk = read_conversation(messages)
    files.run_id = bounded_name(name)
    task = _task(files, talk, pictures)
    steps = step_records(files, talk, dump, pictures)
    if not steps:
        raise InputError("messages", "no message of an agent", file=name)
    beside = {key: getattr(dump, key) for key in ("model", "system", "tools", "usage")}
    original = files.original(
        name.rpartition("/")[2], files.clean_json(beside | {"messages": messages})
    )
    answer, display = _answer(talk), display_of(dump.tools)
    vendor = "openai" if talk.dialect == OPENAI else "anthropic"
    config = not_empty({"system": dump.system, "tools": dump.tools})
    return files.assemble(
        task,
        steps,
        name,
        tool=talk.dialect,
        originals=(original,),
        agent=AgentRecord(name=f"{vendor} computer use", config=files.clean_json(config) or None),
        models=model_names([dump.model]),
        experiment=experiment_above(name),
        end_reason=EndReason.AGENT_STOPPED if answer else EndReason.UNKNOWN,
        final_answer=files.clean(answer),
        totals=_totals(dump, talk),
        environment=EnvironmentRecord(
            viewport_width=round(display.width), viewport_height=round(display.height)
        )
        if display
        else None,
    )


def _stripped(
    files: RunFiles, value: Any, pictures: dict[str, BlobRecord], where: str, depth: int
) -> Any:
    """The messages with `{"$blob": hash}` in place of pictures, in both vendors' spellings."""
    if depth <= 0:
        raise InputError("", "nested too deeply", file=where)
    if isinstance(value, list):
        return [_stripped(files, item, pictures, where, depth - 1) for item in value]
    if isinstance(value, str) and value.startswith("data:image/"):
        return _blob(files, value, pictures, where)
    if not isinstance(value, dict):
        return value
    data = value.get("data")
    if value.get("type") == "base64" and isinstance(data, str):
        url = f"data:{value.get('media_type')};base64,{data}"
        return value | {"data": _blob(files, url, pictures, where)}
    return {key: _stripped(files, item, pictures, where, depth - 1) for key, item in value.items()}


def _blob(
    files: RunFiles, data_url: str, pictures: dict[str, BlobRecord], where: str
) -> dict[str, str | None]:
    blob = files.embedded_picture(data_url, "screenshot", where)
    if blob is not None:
        pictures[blob.sha256] = blob
    return {BLOB_KEY: blob.sha256 if blob else None}


def _task(files: RunFiles, talk: Conversation, pictures: dict[str, BlobRecord]) -> TaskRecord:
    """The task is known by its words alone: nothing else names it."""
    goal = talk.goal or "unknown"
    name = task_name_of(goal)
    shown = goal_pictures(pictures[each] for each in talk.goal_pictures if each in pictures)
    return task_record(FORMAT, name, id=f"{FORMAT}:{name}", goal=(*files.goal(talk.goal), *shown))


def _answer(talk: Conversation) -> str | None:
    """The last turn's words, if it asks for nothing more."""
    last = talk.turns[-1] if talk.turns else None
    return "\n".join(last.words) or None if last and not last.calls else None


def _totals(dump: Dump, talk: Conversation) -> Totals:
    """Sums; a dump that tells one usage of all is taken at its word."""
    usages = [turn.usage for turn in talk.turns if turn.usage]
    if isinstance(dump.usage, dict):
        usages = [dump.usage]
    elif isinstance(dump.usage, list):
        usages = [mapping(usage) for usage in dump.usage]
    return Totals(
        **sums_of([llm_call("", usage) for usage in usages]),
        reasoning_tokens=total(
            count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens"))
            for usage in usages
        ),
        llm_calls=len(talk.turns) or None,
    )
