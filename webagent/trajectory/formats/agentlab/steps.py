"""Steps: each with what it saw, did, and *itself* caused (the files tell that one later)."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from webagent.trajectory.actions import parse_browsergym_actions, typed_password, with_outcome
from webagent.trajectory.files.assembling import TARGET_CHARS, present, seconds_between
from webagent.trajectory.files.pickle_reader import PickleError, PickleReader
from webagent.trajectory.formats.agentlab.folders import RunFiles
from webagent.trajectory.formats.agentlab.stepfiles import StepFile, observation, read_step_file
from webagent.trajectory.records import ActionRecord, BlobRecord, Box, LlmCall, StepRecord
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import storable_json, storable_text
from webagent.trajectory.values import cost, count, mapping, moment, not_none, number, text

_AGENT_INFO_KNOWN = frozenset(
    ("$class", "think", "chat_messages", "stats", "markdown_page", "html_page", "extra_info")
)
_CONFIG_KEY = "chat_model_args"
"""Repeated at every step by AgentLab's own agent; it stands in the run's configuration."""


class Steps:
    """Reads a run's step files one after another and puts the steps together."""

    def __init__(
        self, files: RunFiles, pickles: PickleReader | None, models: tuple[str, ...]
    ) -> None:
        """`pickles` is needed where steps are pickled files, as AgentLab writes them."""
        self._files = files
        self._pickles = pickles
        self._model = models[0] if models else None
        self.first: StepFile | None = None
        """The first step file that could be read."""
        self.last: StepFile | None = None
        """The last file, if it could be read."""
        self.stats: list[dict[str, Any]] = []
        """Statistics of every step file, the last one's too."""

    def read(self) -> Iterator[StepRecord]:
        """Every step, numbered as in the files: what is missing leaves an empty step."""
        if not self._files.folder.steps:
            return
        end = max(self._files.folder.steps)
        current = self._file(0)
        for index in range(end):
            following = self._file(index + 1)
            final = index + 1 == end and (following is None or following.action is None)
            after = observation(self._files, end, following) if final else None
            yield self._step(index, current, following).model_copy(update={"after": after})
            current = following
        self.last = current
        if current is not None and (current.action is not None or end == 0):
            yield self._step(end, current, None)

    def _file(self, number_: int) -> StepFile | None:
        """One step file; None, with a note, if it is missing or unreadable."""
        path = self._files.folder.steps.get(number_)
        if path is None:
            self._files.inventory.miss("step", f"step_{number_}.pkl.gz")
            return None
        content = self._files.read(path, self._files.bounds.pickle_bytes)
        if content is None or self._pickles is None:
            return None
        try:
            step, pickled = read_step_file(self._pickles, content, number_)
        except PickleError as error:
            self._files.inventory.miss("step", path, str(error))
            return None
        self._files.check_pickle(pickled, path)
        return self._taken(step)

    def _taken(self, step: StepFile) -> StepFile:
        """The step without secrets, counted among those that were read."""
        redactor = self._files.redactor
        if self.first is None and not redactor.public:
            redactor.public = text(step.obs.get("goal")) or ""
        for password in typed_passwords(step, self._files.bounds.text_chars):
            redactor.learn(password)
        step = _without_secrets(step, redactor)
        self.first = self.first or step
        self.stats.append(step.stats)
        return step

    def _step(self, index: int, step: StepFile | None, following: StepFile | None) -> StepRecord:
        before = observation(self._files, index, step)
        if step is None:
            # The next observation still tells which action led to it.
            raw = following.last_action if following else None
            actions = parse_browsergym_actions(raw) if raw else ()
            record = StepRecord(
                run_id=self._files.run_id, index=index, source_index=index, before=before
            )
            return self._caused(record, actions, following)
        limit = self._files.bounds.text_chars
        record = StepRecord(
            run_id=self._files.run_id,
            index=index,
            source_index=index,
            before=before,
            thought=storable_text(step.thought, limit) if step.thought else None,
            messages=self._messages(step),
            llm_calls=present(self._llm_call(step)),
            metrics=storable_json(step.stats, limit, 8) if step.stats else None,
            started_at=moment(step.profiling.get("agent_start")),
            extra=self._extra(step, following),
        )
        return self._caused(record, _described(step, limit), following)

    def _caused(
        self, record: StepRecord, actions: tuple[ActionRecord, ...], following: StepFile | None
    ) -> StepRecord:
        """The step with what its action brought about, as the next file has it."""
        if following is None:
            return record.model_copy(update={"actions": actions})
        ended = moment(following.profiling.get("env_stop"))
        started = record.started_at or moment(following.profiling.get("env_start"))
        seconds = seconds_between(started, ended)
        return record.model_copy(
            update={
                "actions": _with_outcome(actions, following, self._files.bounds.text_chars),
                "reward": following.reward,
                "terminated": following.terminated,
                # The loop marks giving up as truncation, after this step's own result.
                "truncated": False if following.gave_up else following.truncated,
                "ended_at": ended,
                "seconds": seconds if seconds is not None and seconds >= 0 else None,
            }
        )

    def _messages(self, step: StepFile) -> tuple[BlobRecord, ...]:
        """What was said between agent and model, with the pictures apart."""
        said = step.agent_info.get("chat_messages")
        if not said:
            return ()
        where = f"step_{step.number}/chat_messages.json"
        clean, pictures = self._files.without_pictures(_unwrapped(said), where)
        return (self._files.json_blob(clean, "messages", where), *pictures)

    def _llm_call(self, step: StepFile) -> LlmCall | None:
        """All calls of the step in one: AgentLab sums them, retries included."""
        stats = step.stats
        tokens = [count(stats.get(key)) for key in ("input_tokens", "output_tokens")]
        if self._model is None or tokens == [None, None]:
            return None
        return LlmCall(
            model=self._model,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost=cost(stats.get("cost")),
            seconds=number(stats.get("agent_elapsed")),
        )

    def _extra(self, step: StepFile, following: StepFile | None) -> dict[str, Any] | None:
        extra: dict[str, Any] = {}
        info = mapping(step.agent_info.get("extra_info"))
        known = {key: value for key, value in info.items() if key != _CONFIG_KEY}
        other = {k: v for k, v in step.agent_info.items() if k not in _AGENT_INFO_KNOWN and v}
        pages = {
            key: step.agent_info[key]
            for key in ("markdown_page", "html_page")
            if step.agent_info.get(key)
        }
        if known or other or pages:
            extra["agent_info"] = {**other, **pages, **known}
        if following is not None and following.task_info:
            extra["task_info"] = following.task_info
        return self._files.free_form(extra, f"step_{step.number}: agent_info, task_info")


def _without_secrets(step: StepFile, redactor: Redactor) -> StepFile:
    """The step with everything that it says in the open."""
    action = redactor.text(step.action) if step.action else step.action
    return replace(
        step,
        obs=redactor.json(step.obs),
        raw_obs=redactor.json(step.raw_obs),
        action=action,
        actions=step.actions if action == step.action else parse_browsergym_actions(action or ""),
        agent_info=redactor.json(step.agent_info),
        task_info=redactor.json(step.task_info),
    )


def _with_outcome(
    actions: tuple[ActionRecord, ...], following: StepFile, limit: int
) -> tuple[ActionRecord, ...]:
    times = {
        "started_at": moment(following.profiling.get("action_exec_start")),
        "ended_at": moment(following.profiling.get("action_exec_stop")),
    }
    error = storable_text(following.last_error, limit) if following.last_error else None
    return tuple(action.model_copy(update=times) for action in with_outcome(actions, error))


def _unwrapped(value: Any) -> Any:
    """Messages without the shells of the classes they were objects of."""
    if isinstance(value, list):
        return [_unwrapped(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("messages"), list) and "$class" in value:
        return _unwrapped(value["messages"])
    if isinstance(value.get("$items"), dict) and "$class" in value:
        return _unwrapped(value["$items"])
    return {key: _unwrapped(item) for key, item in value.items()}


_QUOTED = re.compile(r"^'((?:[^'\\]|\\.)*)'|^\"((?:[^\"\\]|\\.)*)\"")
_LINE_CHARS = 2_000


def _described(step: StepFile, limit: int) -> tuple[ActionRecord, ...]:
    """The step's actions, storable, with box, point, role and text of their targets."""
    tree = text(step.obs.get("axtree_txt")) or ""
    return tuple(_with_target(action, step.boxes, tree, limit) for action in step.actions)


def typed_passwords(step: StepFile, limit: int) -> Iterator[str]:
    """What the step types into fields whose names ask for a password."""
    for action in _described(step, limit):
        yield from typed_password(action)


def _with_target(
    action: ActionRecord, boxes: dict[str, Box], tree: str, limit: int
) -> ActionRecord:
    changes: dict[str, object] = {}
    if isinstance(action.raw, str):
        changes["raw"] = storable_text(action.raw, limit)
    if action.target and action.target.bid:
        bid = action.target.bid
        box = boxes.get(bid)
        role, name = _role_and_name(tree, bid)
        found = {"box": box, "role": role, "text": name}
        changes["target"] = action.target.model_copy(update=not_none(found))
        if box is not None and action.point is None:
            changes["point"] = box.centre
    return action.model_copy(update=changes) if changes else action


def _role_and_name(tree: str, bid: str) -> tuple[str | None, str | None]:
    """From the line `[bid] role 'name', ...` of the tree's text."""
    # At the head of a line: what a page says may look the same.
    found = re.search(rf"^[\t ]*\[{re.escape(bid)}\] (.{{0,{_LINE_CHARS}}})", tree, re.MULTILINE)
    if found is None:
        return None, None
    line = found[1]
    role, _, rest = line.partition(" ")
    quoted = _QUOTED.match(rest)
    name = (quoted[1] or quoted[2] or "") if quoted else ""
    return storable_text(role, 100) or None, storable_text(name, TARGET_CHARS) or None
