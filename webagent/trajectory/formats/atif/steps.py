"""ATIF's turns as steps: an agent's turn is one, its results are what came after it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.files.assembling import URL_CHARS, RunFiles, point_in, present, with_after
from webagent.trajectory.formats.atif.writer import NOT_BESIDE
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    LlmCall,
    Observation,
    StepRecord,
    Target,
)
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import (
    cost,
    counts,
    flag,
    iso_moment,
    items,
    mapping,
    not_empty,
    not_none,
    number,
    text,
    whole,
)

DIALECT = "atif"
ERROR_PREFIX = "Error"
"""The format has no mark for a result that is an error; tools begin its text like this."""
ANSWERING = frozenset(
    ("send_msg_to_user", "answer", "done", "finish", "submit", "stop", "final_answer", "complete")
)
_OTHERS = ("user", "system")
_OF_AGENTS = ("tool_calls", "observation", "reasoning_content", "metrics")
"""What is read of an agent's turn alone."""


@dataclass(slots=True)
class Content:
    """A message or a result: its words, and its pictures' paths."""

    words: str = ""
    pictures: list[str] = field(default_factory=list)
    others: int = 0
    """Parts that are neither: audio."""


def read_content(value: Any) -> Content:
    """Words and pictures of a string or a list of parts."""
    if isinstance(value, str):
        return Content(value)
    found, words = Content(), []
    for part in map(mapping, items(value)):
        path = text(mapping(part.get("source")).get("path"))
        if part.get("type") == "text":
            words.append(text(part.get("text")) or "")
        elif part.get("type") == "image" and path:
            found.pictures.append(path)
        else:
            found.others += 1
    found.words = "\n".join(words)
    return found


class Steps:
    """Reads the turns of one document."""

    def __init__(self, files: RunFiles, model: str | None) -> None:
        self._files = files
        self._model = model
        self.goal: list[str] = []
        """What the user said before the agent's first turn."""
        self.goal_pictures: list[BlobRecord] = []
        """Those shown then, but for the last one, which is what was seen first."""
        self.final_answer: str | None = None

    def _picture(self, path: str, where: str) -> BlobRecord | None:
        where = f"{where}: {path}"
        return self._files.picture(path, "screenshot", where=where, why=NOT_BESIDE)

    def read(self, turns: list[Any]) -> tuple[StepRecord, ...]:
        """Every turn of the agent; what others say between them is noted with the next one."""
        seen: Observation | None = None
        said: list[dict[str, Any]] = []
        done: list[StepRecord] = []
        for position, turn in enumerate(map(mapping, turns)):
            where = f"steps.{position}"
            if flag(turn.get("is_copied_context")):
                self._files.drop("step", where, "copied from an earlier trajectory as context")
            elif turn.get("source") != "agent":
                self._miss_what_is_not_read(turn, where)
                seen = self._other(turn, where, first=not done) or seen
                if done or turn.get("source") != "user":
                    said.append(self._said(turn))
            else:
                self._files.check_steps(len(done) + 1, "steps")
                step, seen = self._step(len(done), turn, where, seen, said)
                done.append(step)
                said = []
        if any("text" in words for words in said):
            self._files.inventory.miss("message", "steps", "no step follows them")
        return with_after(done, seen)

    def _miss_what_is_not_read(self, turn: dict[str, Any], where: str) -> None:
        """No step is made of a turn that is not said to be the agent's, whatever it holds."""
        inventory, found = self._files.inventory, [key for key in _OF_AGENTS if turn.get(key)]
        if turn.get("source") not in _OTHERS:
            inventory.miss("step", f"{where}.source", "neither agent, user nor system")
        elif found:
            inventory.miss("step", where, f"{', '.join(found)} of a turn that is not the agent's")

    def _listed(self, value: Any, what: str, where: str) -> list[dict[str, Any]]:
        """The objects of a list; a gap where something else stands."""
        if value is not None and not isinstance(value, list):
            self._files.inventory.miss(what, where, "no list")
        return [mapping(item) for item in items(value)]

    def _other(self, turn: dict[str, Any], where: str, *, first: bool) -> Observation | None:
        """What the user said or showed: the goal, as long as the agent has not begun."""
        content = read_content(turn.get("message"))
        if first and turn.get("source") == "user" and content.words:
            self.goal.append(content.words)
        for path in content.pictures[:-1]:
            if first:
                self.goal_pictures += present(self._picture(path, where))
            else:
                why = "not the last picture of its turn"
                self._files.inventory.miss("screenshot", f"{where}: {path}", why)
        if content.others:
            self._files.note("message", where, "parts that are neither text nor pictures")
        return self._observation(turn, content.pictures, where, "url")

    def _said(self, turn: dict[str, Any]) -> dict[str, Any]:
        words = read_content(turn.get("message")).words
        role = self._files.clean(turn.get("source"), 100)
        return not_none({"type": "chat", "role": role, "text": self._files.clean(words)})

    def _observation(
        self, turn: dict[str, Any], pictures: list[str], where: str, url_key: str
    ) -> Observation | None:
        url = self._files.clean(mapping(turn.get("extra")).get(url_key), URL_CHARS)
        screenshot = self._picture(pictures[-1], where) if pictures else None
        if url is None and screenshot is None:
            return None
        return Observation(url=url, screenshot=screenshot)

    def _step(
        self,
        index: int,
        turn: dict[str, Any],
        where: str,
        seen: Observation | None,
        said: list[dict[str, Any]],
    ) -> tuple[StepRecord, Observation | None]:
        files = self._files
        said_itself = read_content(turn.get("message"))
        message = said_itself.words
        reasoning = text(turn.get("reasoning_content"))
        shown = turn.get("observation")
        shown = shown.get("results") if isinstance(shown, dict) else shown
        results = self._listed(shown, "observation", f"{where}.observation")
        contents = [
            (text(r.get("source_call_id")), read_content(r.get("content"))) for r in results
        ]
        calls = self._listed(turn.get("tool_calls"), "action", f"{where}.tool_calls")
        extra = mapping(turn.get("extra"))
        url = files.clean(extra.get("url"), URL_CHARS)
        if url and (seen is None or seen.url is None):
            seen = (seen or Observation()).model_copy(update={"url": url})
        pictures = [path for _, content in contents for path in content.pictures]
        more = (self._picture(path, where) for path in (*said_itself.pictures, *pictures[:-1]))
        if said_itself.others or any(content.others for _, content in contents):
            files.note("observation", where, "parts that are neither text nor pictures")
        for result in results:
            if result.get("subagent_trajectory_ref"):
                files.note("subagent", where, "work of another agent is not part of these steps")
        self._answer(calls, message)
        step = StepRecord(
            run_id=files.run_id,
            index=index,
            source_index=whole(turn.get("step_id")),
            before=seen,
            thought=files.clean(reasoning or message),
            thought_parts=_parts(files, reasoning, message),
            actions=tuple(self._actions(calls, contents, text(extra.get("raw_action")))),
            reward=number(extra.get("reward"), "reward"),
            messages=tuple(picture for picture in more if picture),
            llm_calls=present(self._llm_call(turn)),
            events=tuple(said),
            started_at=iso_moment(turn.get("timestamp")),
            extra=files.free_form(
                mapping(files.clean_json(_rest(extra, turn, contents, calls))), where
            ),
        )
        return step, self._observation(turn, pictures, where, "url_after")

    def _answer(self, calls: list[dict[str, Any]], message: str) -> None:
        """The last words to the user so far, said by a call or by a turn without one."""
        if not calls:
            self.final_answer = self._files.clean(message) or self.final_answer
        for call in calls:
            if text(call.get("function_name")) in ANSWERING:
                words = [v for v in mapping(call.get("arguments")).values() if isinstance(v, str)]
                self.final_answer = self._files.clean(words[0]) if words else self.final_answer

    def _actions(
        self,
        calls: list[dict[str, Any]],
        contents: list[tuple[str | None, Content]],
        raw: str | None,
    ) -> Iterator[ActionRecord]:
        files = self._files
        for call in calls:
            name = text(call.get("function_name"))
            arguments = mapping(call.get("arguments"))
            own = text(call.get("tool_call_id"))
            words = "\n".join(c.words for source, c in contents if source == own and c.words)
            failed = words.startswith(ERROR_PREFIX)
            verbatim: Any = {"function_name": name, "arguments": call.get("arguments") or {}}
            yield ActionRecord(
                raw=files.clean_json(raw if raw and len(calls) == 1 else verbatim),
                dialect=DIALECT,
                name=files.clean(name, 100),
                named_args=files.clean_json(arguments) or None,
                target=_target(files, arguments),
                point=point_in(arguments),
                status="error"
                if failed
                else "ok"
                if any(s == own for s, _ in contents)
                else "unknown",
                error=files.clean(words) if failed else None,
                result_text=None if failed else files.clean(words),
            )

    def _llm_call(self, turn: dict[str, Any]) -> LlmCall | None:
        metrics = mapping(turn.get("metrics"))
        model = text(turn.get("model_name")) or self._model
        if not metrics or model is None:
            return None
        return LlmCall(
            model=bounded_name(model),
            **counts(
                metrics,
                input_tokens="prompt_tokens",
                cached_tokens="cached_tokens",
                output_tokens="completion_tokens",
            ),
            cost=cost(metrics.get("cost_usd"), "cost_usd"),
        )


_READ_EXTRA = frozenset(("url", "url_after", "raw_action", "reward"))


def _rest(
    extra: dict[str, Any],
    turn: dict[str, Any],
    contents: list[tuple[str | None, Content]],
    calls: list[dict[str, Any]],
) -> dict[str, Any]:
    """What no field of a step holds."""
    ids = {text(call.get("tool_call_id")) for call in calls}
    loose = [content.words for source, content in contents if source not in ids and content.words]
    found = {key: value for key, value in extra.items() if key not in _READ_EXTRA}
    metrics = mapping(turn.get("metrics"))
    results = items(mapping(turn.get("observation")).get("results"))
    of_calls = {text(call.get("tool_call_id")) or "": call.get("extra") for call in calls}
    rest = {
        "calls": not_empty(of_calls),
        "result_notes": [r["extra"] for r in map(mapping, results) if r.get("extra")],
        "results": loose,
        "reasoning_effort": turn.get("reasoning_effort"),
        "llm_call_count": turn.get("llm_call_count"),
        "metrics": mapping(metrics.get("extra")),
    }
    return found | not_empty(rest)


def _parts(files: RunFiles, reasoning: str | None, message: str) -> dict[str, Any] | None:
    """Both, where the agent said something else than it thought."""
    if not reasoning or not message or reasoning == message:
        return None
    return {"reasoning": files.clean(reasoning), "message": files.clean(message)}


def _target(files: RunFiles, arguments: dict[str, Any]) -> Target | None:
    bid, selector = arguments.get("bid"), text(arguments.get("selector"))
    if not isinstance(bid, str) and selector is None:
        return None
    return Target(
        bid=bounded_name(bid) if isinstance(bid, str) else None,
        selector=files.clean(selector) if selector else None,
    )
