"""Runs of browser-use, pushed while they happen.

    recorder = BrowserUseRecorder(client, task="Find the price of the Copper Kettle.")
    agent = Agent(task=recorder.task, llm=llm, register_done_callback=recorder.done)
    await agent.run(on_step_end=recorder.step)
    recorder.close()

`on_step_end` is called once a step's actions were carried out, so that what came of them is there;
`register_new_step_callback` is called before. A run that never calls `done` ends with `close`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .api import Client, Json
from .push import Push
from .spool import SPOOL

DIALECT = "browser_use"


class BrowserUseRecorder:
    """Pushes one run of an agent of browser-use."""

    def __init__(
        self, client: Client, *, task: str, spool: str | Path = SPOOL, **head: Any
    ) -> None:
        """`head` is what else the run's head may hold: agent, models, experiment, max_steps."""
        self.task = task
        words = {"task": {"goal": task}, "agent": {"name": "browser-use"}, **head}
        self._push = Push(client, words, spool=spool)
        self._last: Json = {}
        self._is_over = False

    async def step(self, agent: Any) -> None:
        """The hook `on_step_end`: the steps that the history has and we have not."""
        for item in agent.history.history[self._push.steps :]:
            self._last = item.model_dump()
            read = getattr(item.state, "get_screenshot", None)
            picture = read() if read else self._last["state"].get("screenshot")
            self._push.step(step_of(self._last, picture))
        if self._push.is_to_cancel:
            agent.stop()

    def done(self, history: Any = None) -> None:
        """The hook `register_done_callback`: the agent says that it is done."""
        self.close()

    def close(self, error: BaseException | None = None) -> None:
        """End the run, if it goes on still."""
        if not self._is_over:
            self._is_over = True
            self._push.end(ending_of(self._last, error))


def step_of(item: Mapping[str, Any], picture: str | None) -> Json:
    """A step from an item of the history, as browser-use itself writes it to its file."""
    output, state = item.get("model_output") or {}, item.get("state") or {}
    brain = output.get("current_state") or output
    results = item.get("result") or []
    listed = output.get("action") or []
    calls = [
        {
            "name": name,
            "arguments": arguments or {},
            "error": result.get("error"),
            "result": result.get("extracted_content"),
        }
        for action, result in zip(listed, [*results, *[{}] * len(listed)], strict=False)
        for name, arguments in list(action.items())[:1]
    ]
    thoughts = (brain.get(key) for key in ("thinking", "next_goal", "memory"))
    times = item.get("metadata") or {}
    failed = next((result["error"] for result in results if result.get("error")), None)
    return {
        "observation": {
            "url": state.get("url"),
            "title": state.get("title"),
            "screenshot": picture,
        },
        "thought": next((words for words in thoughts if words), None),
        "calls": calls,
        "dialect": DIALECT,
        # Without a usable reply there was nothing to carry out.
        "error": None if calls else failed,
        "input_tokens": times.get("input_tokens") or None,
        "started_at": _moment(times.get("step_start_time")),
        "ended_at": _moment(times.get("step_end_time")),
    }


def ending_of(last: Mapping[str, Any], error: BaseException | None) -> Json:
    """The end by the last step. That the agent says it is done is its own word and no outcome."""
    if error is not None:
        told = {"message": f"{type(error).__name__}: {error}"}
        return {"outcome": "error", "end_reason": "exception", "error": told}
    result = (last.get("result") or [{}])[-1]
    if not result.get("is_done"):
        return {"outcome": "incomplete", "end_reason": "max_steps" if last else "never_started"}
    words = {
        "outcome": "unknown",
        "end_reason": "agent_stopped",
        "claimed_success": result.get("success"),
        "final_answer": result.get("extracted_content"),
    }
    return {key: value for key, value in words.items() if value is not None}


def _moment(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else None
