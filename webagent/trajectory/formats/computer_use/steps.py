"""Turns as steps: pictures of results are what was seen after them."""

from collections.abc import Iterator
from typing import Any

from webagent.trajectory.bundles import UNKNOWN
from webagent.trajectory.files.assembling import RunFiles, point_in, with_after
from webagent.trajectory.formats.computer_use.turns import Call, Conversation, Dump, Turn
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    LlmCall,
    Observation,
    Point,
    Size,
    StepRecord,
)
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import count, items, mapping, not_empty, whole


def step_records(
    files: RunFiles, talk: Conversation, dump: Dump, pictures: dict[str, BlobRecord]
) -> tuple[StepRecord, ...]:
    """A step for each turn; the last one's words are the answer, unless it calls for something."""
    turns = talk.turns if talk.turns and talk.turns[-1].calls else talk.turns[:-1]
    turns = turns or talk.turns
    files.check_steps(len(turns), "messages", "turns")
    listed = [mapping(usage) for usage in items(dump.usage)]
    space = display_of(dump.tools)
    seen: Observation | None = None
    done: list[StepRecord] = []
    missing = 0
    for index, turn in enumerate(turns):
        told = turn.usage or (listed[index] if index < len(listed) else {})
        usage = mapping(files.clean_json({key: value for key, value in told.items() if key}))
        step = _step(files, talk, dump, index, turn, seen, usage, space)
        named = [p for call in turn.calls if call.result for p in call.result.pictures]
        # A file may name hashes of its own making.
        shown = [pictures[sha256] for sha256 in named if sha256 in pictures]
        for why in (why for call in turn.calls if call.result for why in call.result.unseen):
            files.note("screenshot", f"turn {index}", why)
        missing += bool(turn.calls) and not shown
        seen = Observation(screenshot=shown[-1]) if shown else None
        if len(shown) > 1:
            step = step.model_copy(update={"messages": tuple(shown[:-1])})
        done.append(step)
    if missing:
        why = f"{missing} of {len(turns)} turns have none; old ones are commonly cut away"
        files.note("screenshot", "messages", why)
    return with_after(done, seen)


def _step(
    files: RunFiles,
    talk: Conversation,
    dump: Dump,
    index: int,
    turn: Turn,
    seen: Observation | None,
    usage: dict[str, Any],
    space: Size | None,
) -> StepRecord:
    reasoning, words = "\n".join(turn.reasoning), "\n".join(turn.words)
    same = reasoning == words
    safety = {
        "pending_safety_checks": [check for call in turn.calls for check in call.safety],
        "acknowledged_safety_checks": [
            check for call in turn.calls if call.result for check in call.result.acknowledged
        ],
    }
    return StepRecord(
        run_id=files.run_id,
        index=index,
        source_index=index,
        before=seen,
        thought=(words if same else "\n\n".join(filter(None, (reasoning, words)))) or None,
        thought_parts={"reasoning": reasoning, "message": words}
        if reasoning and words and not same
        else None,
        actions=tuple(a for call in turn.calls for a in _actions(talk.dialect, call, space)),
        llm_calls=(llm_call(bounded_name(dump.model or UNKNOWN), usage),) if usage else (),
        metrics=files.free_form({"usage": usage}, f"turn {index}") if usage else None,
        events=tuple({"type": "chat", "role": "user", "text": said} for said in turn.asked),
        extra=files.free_form(not_empty(safety), f"turn {index}"),
    )


def _actions(dialect: str, call: Call, space: Size | None) -> Iterator[ActionRecord]:
    """The actions of one call; of a batch that failed nobody knows which one did."""
    result = call.result
    failed = result is not None and result.is_error
    last = len(call.actions) - 1
    for place, (raw, name, arguments) in enumerate(call.actions):
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
    """Where it was done; of a drag, where it began."""
    first = mapping(next(iter(items(arguments.get("path"))), None))
    start = items(arguments.get("start_coordinate"))
    return point_in(first | arguments | ({"coordinate": start} if start else {}))


def display_of(tools: list[Any]) -> Size | None:
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


def llm_call(model: str, usage: dict[str, Any]) -> LlmCall:
    """What one answer took, in either vendor's words.

    Anthropic leaves what its cache held or took out of the input; in records, as in OpenAI's
    words, it is part of it.
    """
    given = count(usage.get("input_tokens"))
    read, written = (
        count(usage.get(key)) for key in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    if given is not None:
        given += (read or 0) + (written or 0)
    if read is None:
        read = count(mapping(usage.get("input_tokens_details")).get("cached_tokens"))
    return LlmCall(
        model=model,
        input_tokens=given,
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=count(usage.get("output_tokens")),
    )
