"""What a sample says: its messages as steps, and its scores, limit and error.

A step is an assistant's message with the results of its calls.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.files.assembling import (
    SCALE,
    Ending,
    RunFiles,
    evaluator,
    outcome_of,
    passed,
    point_in,
    present,
    verdict_of,
    with_after,
)
from webagent.trajectory.files.run_files import BLOB_KEY
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    EndReason,
    ErrorRecord,
    LlmCall,
    Observation,
    Outcome,
    StepRecord,
)
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import cost, count, flag, iso_moment, items, mapping, number, text
from webagent.trajectory.verdict_records import EvaluationRecord

DIALECT = "inspect"
ATTACHMENT = "attachment://"
LEFT_OUT = "<base64-data-removed>"
"""What Inspect writes in place of a picture with `--no-log-images`."""
_COMPUTERS = frozenset(("computer", "computer_use", "computer_use_preview", "browser"))


@dataclass(frozen=True, slots=True)
class Content:
    """What a message says, thinks and shows."""

    words: str
    reasoning: str
    pictures: tuple[BlobRecord, ...]


class Messages:
    """Reads the messages of one sample. The sample holds no pictures and no secrets any more."""

    def __init__(
        self, files: RunFiles, sample: dict[str, Any], pictures: dict[str, BlobRecord]
    ) -> None:
        """`pictures` are those that stood in the sample as base64, by hash."""
        self._files = files
        self._pictures = pictures
        self._attachments = mapping(sample.get("attachments"))
        self._messages = [mapping(message) for message in items(sample.get("messages"))]
        events = [mapping(event) for event in items(sample.get("events"))]
        self._tools = {text(e.get("id")): e for e in events if e.get("event") == "tool"}
        self._models = {
            identity: event
            for event in events
            if event.get("event") == "model" and (identity := _output_id(event))
        }

    def steps(self) -> tuple[StepRecord, ...]:
        """A step for each message of the assistant."""
        seen: Observation | None = None
        done: list[StepRecord] = []
        for position, message in enumerate(self._messages):
            if message.get("role") != "assistant":
                # Providers that take no pictures in results get them in a user's message.
                shown = self.content(message.get("content")).pictures
                seen = Observation(screenshot=shown[-1]) if shown else seen
                if done and shown[:-1]:
                    both = {"messages": (*done[-1].messages, *shown[:-1])}
                    done[-1] = done[-1].model_copy(update=both)
                continue
            self._files.check_steps(len(done) + 1, "messages")
            done.append(self._step(len(done), position, message, seen))
            seen = None
        return with_after(done, seen)

    def content(self, value: Any) -> Content:
        """The parts of a message's content, attachments put in."""
        words, reasoning, pictures = [], [], []
        for part in [value] if isinstance(value, str) else items(value):
            if isinstance(part, str):
                words.append(self._text(part))
                continue
            kind = mapping(part).get("type")
            if kind == "image":
                picture = self._picture(mapping(part).get("image"))
                pictures += [picture] if picture else []
            elif kind == "reasoning":
                # What a provider hides is a cipher; at most a summary stands beside it.
                hidden = flag(mapping(part).get("redacted"))
                key = "summary" if hidden else "reasoning"
                reasoning.append(self._text(mapping(part).get(key)))
            elif kind == "text":
                words.append(self._text(mapping(part).get("text")))
            else:
                shown = text(kind) or "a part without a type"
                self._files.note("content", "messages", f"{shown[:100]}: not read")
        said, thought = ("\n".join(filter(None, each)) for each in (words, reasoning))
        return Content(said, thought, tuple(pictures))

    def _step(
        self, index: int, position: int, message: dict[str, Any], seen: Observation | None
    ) -> StepRecord:
        content = self.content(message.get("content"))
        actions = tuple(
            self._action(mapping(call), position) for call in items(message.get("tool_calls"))
        )
        event = self._models.get(text(message.get("id")) or "", {})
        both = bool(content.reasoning and content.words)
        thought = "\n\n".join(filter(None, (content.reasoning, content.words)))
        return StepRecord(
            run_id=self._files.run_id,
            index=index,
            source_index=position,
            before=seen,
            thought=thought or None,
            thought_parts={"reasoning": content.reasoning, "message": content.words}
            if both
            else None,
            actions=actions,
            llm_calls=present(_llm_call(message, event)),
            started_at=iso_moment(event.get("timestamp")),
            ended_at=max(
                (action.ended_at for action in actions if action.ended_at),
                default=iso_moment(event.get("completed")),
            ),
        )

    def _action(self, call: dict[str, Any], position: int) -> ActionRecord:
        function = text(call.get("function"))
        arguments = mapping(self._resolved(call.get("arguments")))
        own = text(call.get("id"))
        result = self._result(own, position)
        event = self._tools.get(own, {})
        error = text(mapping(result.get("error")).get("message"))
        problem = text(call.get("parse_error"))
        words = self._words(result.get("content"))
        action = arguments.get("action")
        inner = action if function in _COMPUTERS and isinstance(action, str) else None
        return ActionRecord(
            raw={"function": function, "arguments": arguments},
            dialect=DIALECT,
            name=(inner or function or "")[:100] or None,
            named_args={k: v for k, v in arguments.items() if inner is None or k != "action"}
            or None,
            point=point_in(arguments),
            started_at=iso_moment(event.get("timestamp")),
            ended_at=iso_moment(event.get("completed")),
            status="error" if error or problem else "ok" if result else "unknown",
            error=error or problem,
            result_text=words or None,
        )

    def _result(self, call_id: str | None, position: int) -> dict[str, Any]:
        """The tool's message that answers a call; ids may come again later in a sample."""
        for message in self._messages[position + 1 :]:
            if message.get("role") == "assistant":
                break
            if message.get("role") == "tool" and text(message.get("tool_call_id")) == call_id:
                return message
        return {}

    def _words(self, value: Any) -> str:
        """What a message says alone: its pictures are looked for where they are shown."""
        parts = [value] if isinstance(value, str) else items(value)
        texts = [part if isinstance(part, str) else mapping(part).get("text") for part in parts]
        return "\n".join(filter(None, map(self._text, texts)))

    def _text(self, value: Any) -> str:
        """Text, or the long text that it refers to."""
        if not isinstance(value, str):
            return ""
        if value.startswith(ATTACHMENT):
            found = self._attachments.get(value.removeprefix(ATTACHMENT))
            return found if isinstance(found, str) else value
        return value

    def _resolved(self, value: Any) -> Any:
        """JSON with the long texts that it refers to."""
        if isinstance(value, dict):
            return {key: self._resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _picture(self, value: Any) -> BlobRecord | None:
        found = value
        if isinstance(value, str) and value.startswith(ATTACHMENT):
            found = self._attachments.get(value.removeprefix(ATTACHMENT))
        sha256 = mapping(found).get(BLOB_KEY)
        picture = self._pictures.get(sha256) if isinstance(sha256, str) else None
        if picture is None:
            self._files.note("screenshot", "messages", _why_unseen(found))
        return picture


def _why_unseen(found: Any) -> str:
    if found is None:
        return "missing"
    if found == LEFT_OUT:
        return "the evaluation was told to log no pictures"
    return "a link, and links are not fetched" if isinstance(found, str) else "not readable"


def _llm_call(message: dict[str, Any], event: dict[str, Any]) -> LlmCall | None:
    output = mapping(event.get("output"))
    usage = mapping(output.get("usage"))
    model = text(event.get("model")) or text(message.get("model"))
    if not event or model is None:
        return None
    return LlmCall(
        model=bounded_name(model),
        input_tokens=input_tokens(usage),
        cached_tokens=count(usage.get("input_tokens_cache_read")),
        cache_write_tokens=count(usage.get("input_tokens_cache_write")),
        output_tokens=count(usage.get("output_tokens")),
        cost=cost(usage.get("total_cost")),
        seconds=number(event.get("working_time")) or number(output.get("time")),
        problem=text(event.get("error")),
    )


def input_tokens(usage: dict[str, Any]) -> int | None:
    """The input with what a cache held or took of it, as in records.

    Providers differ in whether it is part of the input; the total tells.
    """
    given, out = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if given is None:
        return None
    cached = sum(count(usage.get(f"input_tokens_cache_{kind}")) or 0 for kind in ("read", "write"))
    apart = count(usage.get("total_tokens")) == given + (out or 0) + cached
    return given + cached if apart else given


def _output_id(event: dict[str, Any]) -> str | None:
    """The id of the message that a model's call brought."""
    for choice in map(mapping, items(mapping(event.get("output")).get("choices"))):
        if identity := text(mapping(choice.get("message")).get("id")):
            return identity
    return None


_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's own: correct, partly correct, incorrect, no answer."""
_LIMITS = {
    "message": EndReason.MESSAGE_LIMIT,
    "token": EndReason.TOKEN_LIMIT,
    "context": EndReason.TOKEN_LIMIT,
    "cost": EndReason.COST_LIMIT,
    "time": EndReason.TIME_LIMIT,
    "working": EndReason.TIME_LIMIT,
    "operator": EndReason.CANCELLED,
}
_JUDGES = ("model_graded", "model_critique", "judge")


def score_number(value: Any) -> float | None:
    """A score as a number; None for what is none, such as one of several parts."""
    if isinstance(value, str):
        return _LETTERS.get(value)
    return float(value) if isinstance(value, bool) else number(value)


def ending(sample: dict[str, Any], status: str | None) -> Ending:
    """How a sample ended: an error is no failure, and a limit no answer.

    Args:
        status: of the whole log: started, success, cancelled or error.
    """
    error = mapping(sample.get("error"))
    if message := text(error.get("message")):
        record = ErrorRecord(message=message, stack=text(error.get("traceback")))
        return Ending(Outcome.ERROR, EndReason.EXCEPTION, error=record)
    limit = mapping(sample.get("limit")).get("type") or text(sample.get("limit"))
    reason = _LIMITS.get(limit, EndReason.UNKNOWN) if isinstance(limit, str) else None
    values = mapping(sample.get("scores")).values()
    numbers = [score_number(mapping(score).get("value")) for score in values]
    reward = next((n for n in numbers if n is not None), None)
    if reward is None:
        cut = status in ("cancelled", "started") and not values
        if cut:
            return Ending(Outcome.INCOMPLETE, reason or EndReason.CANCELLED)
        return Ending(Outcome.UNKNOWN, reason or EndReason.UNKNOWN)
    return Ending(outcome_of(reward), reason or EndReason.AGENT_STOPPED, reward)


def evaluations(
    run_id: str, sample: dict[str, Any], header: dict[str, Any], version: str
) -> Iterator[EvaluationRecord]:
    """Each scorer's verdict; one whose value is no single number gives none and says so."""
    known = {
        text(mapping(scorer).get("name")): mapping(scorer)
        for scorer in items(mapping(header.get("eval")).get("scorers"))
    }
    for name, each in mapping(sample.get("scores")).items():
        score = mapping(each)
        points = score_number(score.get("value"))
        kind = "judge" if any(judge in name for judge in _JUDGES) else "matcher"
        yield EvaluationRecord(
            id=bounded_name(f"{run_id}-{name}"),
            run_id=run_id,
            evaluator=evaluator(f"inspect {name}", kind, version, known.get(name, {})),
            verdict="not_applicable" if points is None else verdict_of(passed(points)),
            score=points,
            scale=None if points is None else SCALE,
            rationale=text(score.get("explanation")),
            extra={key: score.get(key) for key in ("value", "answer", "metadata")},
        )
