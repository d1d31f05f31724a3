"""Read computer-use dumps: one run per file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from webagent.trajectory.assembling import (
    NAME_CHARS,
    UnreadableError,
    clean,
    clean_json,
    goal_of,
    guarded,
    source_record,
)
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.computer_use.dumps import Dump, find_dumps, read_dump
from webagent.trajectory.computer_use.turns import (
    OPENAI,
    Call,
    Conversation,
    Turn,
    read_conversation,
)
from webagent.trajectory.originals import hashes_in, kept_picture
from webagent.trajectory.recognition import NO_ANSWERS, Answers, Recognition
from webagent.trajectory.records import (
    ActionRecord,
    AgentRecord,
    BlobPart,
    BlobRecord,
    EndReason,
    EnvironmentRecord,
    LlmCall,
    Observation,
    Point,
    RunRecord,
    Size,
    StepRecord,
    TaskRecord,
    TaskSetRecord,
    Totals,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.task_sets import UNKNOWN_VERSION
from webagent.trajectory.trees import Tree
from webagent.trajectory.untyped import count, items, mapping, number, whole

FORMAT = "computer_use"
_BASE64 = "base64"
_MEDIA = "data:{};base64,{}"


class ComputerUseReader:
    """Every file of messages in which a computer is used is a run."""

    name = FORMAT
    signs = "JSON or JSON Lines with computer_call items, or tool_use of a computer"

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The files."""
        names = find_dumps(tree)
        return Recognition(runs=len(names), files=frozenset(names))

    def read(
        self, tree: Tree, bounds: Bounds, answers: Answers = NO_ANSWERS
    ) -> Iterator[RunBundle | Problem]:
        """Each file in turn."""
        for name in find_dumps(tree):
            files = RunFiles(tree, name, {name: name}, bounds)
            yield guarded(files.source, name, partial(_bundle, tree, files, name))


def _bundle(tree: Tree, files: RunFiles, name: str) -> RunBundle:
    try:
        dump = read_dump(tree, name, files.bounds)
    except ValueError as error:
        raise UnreadableError(name, "", str(error)) from error
    if dump.bad_lines:
        files.note("line", name, f"{dump.bad_lines} lines are no JSON, or cut short")
    pictures: dict[str, BlobRecord] = {}
    stripped = _stripped(files, dump.messages, pictures, name, files.bounds.json_depth)
    place = name.removesuffix(name.rpartition("/")[2])
    for sha256 in hashes_in(stripped) - pictures.keys():
        if (kept_one := kept_picture(tree, files, place, sha256, "screenshot")) is not None:
            pictures[sha256] = kept_one
    files.redactor = Redactor(read_conversation(stripped).goal)
    messages = clean_json(files, stripped)
    talk = read_conversation(messages)
    run_id = name[-NAME_CHARS:]
    task = _task(files, talk, pictures)
    steps = tuple(_steps(files, talk, dump, run_id, pictures))
    if not steps:
        raise UnreadableError(name, "messages", "no turn of an agent in it")
    kept = {
        "model": dump.model,
        "system": dump.system,
        "tools": dump.tools,
        "usage": dump.usage,
        "messages": messages,
    }
    run = _run(files, name, dump, talk, task, run_id, steps)
    source = source_record(
        files,
        FORMAT,
        name,
        tool=talk.dialect,
        originals=(files.original(name.rpartition("/")[2], clean_json(files, kept)),),
    )
    return RunBundle(
        source=files.source,
        task=task,
        run=run.model_copy(update={"source": source, "gaps": tuple(files.gaps)}),
        steps=steps,
        blobs=files.stash,
        problems=tuple(files.problems),
    )


def _stripped(
    files: RunFiles, value: Any, pictures: dict[str, BlobRecord], where: str, depth: int
) -> Any:
    """The messages with `{"$blob": hash}` in place of pictures, in both vendors' spellings."""
    if depth <= 0:
        raise UnreadableError(where, "", "nested too deeply")
    if isinstance(value, list):
        return [_stripped(files, item, pictures, where, depth - 1) for item in value]
    if isinstance(value, str) and value.startswith("data:image/"):
        return _blob(files, value, pictures, where)
    if not isinstance(value, dict):
        return value
    data = value.get("data")
    if value.get("type") == _BASE64 and isinstance(data, str):
        url = _MEDIA.format(value.get("media_type"), data)
        return value | {"data": _blob(files, url, pictures, where)}
    return {key: _stripped(files, item, pictures, where, depth - 1) for key, item in value.items()}


def _blob(
    files: RunFiles, data_url: str, pictures: dict[str, BlobRecord], where: str
) -> dict[str, str | None]:
    blob = files.embedded_picture(data_url, "screenshot", where)
    if blob is not None:
        pictures[blob.sha256] = blob
    return {"$blob": blob.sha256 if blob else None}


def _task(files: RunFiles, talk: Conversation, pictures: dict[str, BlobRecord]) -> TaskRecord:
    """The task is known by its words alone: nothing else names it."""
    goal = talk.goal or "unknown"
    name = hashlib.sha256(goal.encode("utf-8", "replace")).hexdigest()[:16]
    shown = tuple(
        BlobPart(blob=pictures[sha256].model_copy(update={"role": "goal_image"}))
        for sha256 in talk.goal_pictures
        if sha256 in pictures
    )
    return TaskRecord(
        id=f"{FORMAT}:{name}",
        task_set=TaskSetRecord(name=FORMAT, version=UNKNOWN_VERSION),
        external_id=name,
        goal=(*goal_of(talk.goal, files.bounds.text_chars), *shown),
    )


def _run(
    files: RunFiles,
    name: str,
    dump: Dump,
    talk: Conversation,
    task: TaskRecord,
    run_id: str,
    steps: tuple[StepRecord, ...],
) -> RunRecord:
    answer = _answer(talk)
    display = _display(dump.tools)
    vendor = "openai" if talk.dialect == OPENAI else "anthropic"
    config = {"system": dump.system, "tools": dump.tools}
    folder = name.rpartition("/")[0].rpartition("/")[2]
    return RunRecord(
        id=run_id,
        task_id=task.id,
        source=source_record(files, FORMAT, name),
        agent=AgentRecord(
            name=f"{vendor} computer use",
            config=clean_json(files, {k: v for k, v in config.items() if v}) or None,
        ),
        models=(dump.model[:NAME_CHARS],) if dump.model else (),
        experiment=folder[:NAME_CHARS] or None,
        goal=task.goal,
        end_reason=EndReason.AGENT_STOPPED if answer else EndReason.UNKNOWN,
        final_answer=clean(files, answer),
        totals=_totals(dump, talk),
        environment=EnvironmentRecord(
            viewport_width=round(display.width), viewport_height=round(display.height)
        )
        if display
        else None,
    )


def _answer(talk: Conversation) -> str | None:
    """The last turn's words, if it asks for nothing more."""
    last = talk.turns[-1] if talk.turns else None
    return "\n".join(last.words) or None if last and not last.calls else None


def _totals(dump: Dump, talk: Conversation) -> Totals:
    """As the vendor counts: Anthropic's input tokens leave out cached ones, OpenAI's do not."""
    usages = [turn.usage for turn in talk.turns if turn.usage]
    if isinstance(dump.usage, dict):
        usages = [dump.usage]
    elif isinstance(dump.usage, list):
        usages = [mapping(usage) for usage in dump.usage]
    calls = [_llm_call("", usage) for usage in usages]
    return Totals(
        input_tokens=_sum([call.input_tokens for call in calls]),
        cached_tokens=_sum([call.cached_tokens for call in calls]),
        output_tokens=_sum([call.output_tokens for call in calls]),
        reasoning_tokens=_sum(
            [
                count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens"))
                for usage in usages
            ]
        ),
        llm_calls=len(talk.turns) or None,
    )


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _llm_call(model: str, usage: dict[str, Any]) -> LlmCall:
    cached = count(usage.get("cache_read_input_tokens"))
    if cached is None:
        cached = count(mapping(usage.get("input_tokens_details")).get("cached_tokens"))
    return LlmCall(
        model=model,
        input_tokens=count(usage.get("input_tokens")),
        cached_tokens=cached,
        cache_write_tokens=count(usage.get("cache_creation_input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
    )


def _steps(
    files: RunFiles,
    talk: Conversation,
    dump: Dump,
    run_id: str,
    pictures: dict[str, BlobRecord],
) -> Iterator[StepRecord]:
    """A step for each turn; the last one's words are the answer, unless it calls for something."""
    turns = talk.turns if talk.turns and talk.turns[-1].calls else talk.turns[:-1]
    turns = turns or talk.turns
    if len(turns) > files.bounds.steps_per_run:
        raise UnreadableError("", "messages", f"more than {files.bounds.steps_per_run} turns")
    listed = [mapping(usage) for usage in items(dump.usage)]
    space = _display(dump.tools)
    seen: Observation | None = None
    step: StepRecord | None = None
    missing = 0
    for index, turn in enumerate(turns):
        if step is not None:
            yield step
        usage = turn.usage or (listed[index] if index < len(listed) else {})
        step = _step(files, talk, dump, run_id, index, turn, seen, usage, space)
        named = [p for call in turn.calls if call.result for p in call.result.pictures]
        # A file may name hashes of its own making.
        shown = [pictures[sha256] for sha256 in named if sha256 in pictures]
        for why in (why for call in turn.calls if call.result for why in call.result.unseen):
            files.note("screenshot", f"turn {index}", why)
        missing += bool(turn.calls) and not shown
        seen = Observation(screenshot=shown[-1]) if shown else None
        if len(shown) > 1:
            step = step.model_copy(update={"messages": tuple(shown[:-1])})
    if missing:
        why = f"{missing} of {len(turns)} turns have none; old ones are commonly cut away"
        files.note("screenshot", "messages", why)
    if step is not None:
        yield step.model_copy(update={"after": seen})


def _step(
    files: RunFiles,
    talk: Conversation,
    dump: Dump,
    run_id: str,
    index: int,
    turn: Turn,
    seen: Observation | None,
    usage: dict[str, Any],
    space: Size | None,
) -> StepRecord:
    reasoning, words = "\n".join(turn.reasoning), "\n".join(turn.words)
    same = reasoning == words
    safety = [check for call in turn.calls for check in call.safety]
    return StepRecord(
        run_id=run_id,
        index=index,
        source_index=index,
        before=seen,
        thought=(words if same else "\n\n".join(filter(None, (reasoning, words)))) or None,
        thought_parts={"reasoning": reasoning, "message": words}
        if reasoning and words and not same
        else None,
        actions=tuple(a for call in turn.calls for a in _actions(talk.dialect, call, space)),
        llm_calls=(_llm_call((dump.model or "unknown")[:NAME_CHARS], usage),) if usage else (),
        events=tuple({"type": "chat", "role": "user", "text": said} for said in turn.asked),
        extra=files.free_form({"pending_safety_checks": safety}, f"turn {index}")
        if safety
        else None,
    )


def _actions(dialect: str, call: Call, space: Size | None) -> Iterator[ActionRecord]:
    """The actions of one call; of a batch that failed nobody knows which one did."""
    result = call.result
    failed = result is not None and result.is_error
    last = len(call.raw) - 1
    for place, (raw, name, arguments) in enumerate(
        zip(call.raw, call.names, call.arguments, strict=True)
    ):
        ends = place == last
        known = "ok" if result else "unknown"
        yield ActionRecord.model_validate(
            {
                "raw": raw,
                "dialect": dialect,
                "name": (name or "")[:100] or None,
                "named_args": arguments or None,
                "point": _point(arguments),
                "coordinate_space": space,
                "status": known if not failed else "error" if ends else "unknown",
                "error": (result.words or "The call failed.")
                if failed and result and ends
                else None,
                "result_text": result.words or None if result and ends and not failed else None,
            }
        )


def _point(arguments: dict[str, Any]) -> Point | None:
    both = items(arguments.get("coordinate")) or items(arguments.get("start_coordinate"))
    first = mapping(next(iter(items(arguments.get("path"))), None))
    if len(both) == 2:
        x, y = number(both[0]), number(both[1])
    else:
        source = arguments if "x" in arguments else first
        x, y = number(source.get("x")), number(source.get("y"))
    return Point(x=x, y=y) if x is not None and y is not None else None


def _display(tools: list[Any]) -> Size | None:
    """The size that the computer was declared to have: coordinates are in it."""
    for tool in map(mapping, tools):
        for wide, high in (
            ("display_width_px", "display_height_px"),
            ("display_width", "display_height"),
        ):
            width, height = whole(tool.get(wide)), whole(tool.get(high))
            if width and height and width > 0 and height > 0:
                return Size(width=width, height=height)
    return None
