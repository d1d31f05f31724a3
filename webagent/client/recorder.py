"""An environment whose episodes are pushed while they happen."""

import logging
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, Self

from .api import Client, Json
from .push import Push
from .spool import SPOOL

logger = logging.getLogger("crosscheck")


class Recorder:
    """An environment of BrowserGym or Gymnasium whose episodes are pushed while they happen.

    It behaves as the environment that it wraps; where somebody asks the run to stop, `step` says
    that the episode was truncated.

    Args:
        task: {"task_set", "id"} of a task that the server has, or {"goal"} for a new one. By
            default the environment's own name (`browsergym/miniwob.click-test`) and goal.
        agent: {"name", "version", "config"}.
        models: names of the language models that it asks.
        spool: the folder for what is on its way.
    """

    def __init__(
        self,
        env: Any,
        client: Client,
        *,
        agent: Json,
        task: Json | None = None,
        experiment: str | None = None,
        models: Sequence[str] = (),
        max_steps: int | None = None,
        spool: str | Path = SPOOL,
        wait_s: float = 30.0,
    ) -> None:
        self.env = env
        self._client = client
        self._task = task
        self._head = {
            "agent": agent,
            "experiment": experiment,
            "models": list(models),
            "max_steps": max_steps,
        }
        self._spool = spool
        self._wait_s = wait_s
        self._push: Push | None = None
        self._before: Any = None
        self._note: Json = {}
        self._rewards = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None:
            self._end_by(error, "unknown")
        self.close()

    @property
    def run_id(self) -> str | None:
        """The id of the run that goes on; None until the server has told it."""
        return self._push.run_id if self._push else None

    def note(self, **fields: Any) -> None:
        """Tell of the next step what only the agent knows.

        thought, model, input_tokens, output_tokens, cost, extra.
        """
        self._note.update(fields)

    def reset(self, **options: Any) -> Any:
        self._end_early()
        observation, info = self.env.reset(**options)
        self._before, self._rewards, self._note = observation, 0.0, {}
        goal = _goal(observation)
        head = {
            **{key: value for key, value in self._head.items() if value},
            "task": self._task or _task_of(self.env, goal),
            "goal": goal,
            "seed": options.get("seed"),
        }
        try:
            self._push = Push(self._client, head, spool=self._spool)
        except Exception as error:  # noqa: BLE001  # the agent goes on whatever happens here
            logger.warning("The run is not recorded: %s", error)
        return observation, info

    def step(self, action: Any) -> Any:
        started = _now()
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except BaseException as error:
            self._end_by(error, "environment")
            raise
        if self._push is None:
            return observation, reward, terminated, truncated, info
        self._rewards += float(reward)
        is_over = bool(terminated or truncated)
        text = action if isinstance(action, str) else repr(action)
        step = {
            "observation": _seen(self._before, text),
            "action": text,
            "dialect": "browsergym" if isinstance(action, str) else "gymnasium",
            "error": _field(observation, "last_action_error") or None,
            "reward": float(reward),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "started_at": started,
            "ended_at": _now(),
            **self._note,
        }
        if is_over:
            step["after"] = _seen(observation, "")
        self._push.step(step)
        self._before, self._note = observation, {}
        if is_over:
            messages = _field(observation, "chat_messages") or [{}]
            gave_up = messages[-1].get("role") == "infeasible"
            reason = "task_ended" if terminated else "max_steps"
            self.end(end_reason="agent_gave_up" if gave_up else reason)
        elif self._push.is_to_cancel:
            truncated = True
            self.end(outcome="incomplete", end_reason="cancelled")
        return observation, reward, terminated, truncated, info

    def end(
        self, *, outcome: str | None = None, end_reason: str = "unknown", **ending: Any
    ) -> None:
        """End the run of this episode. Without an outcome, any reward is success, as BrowserGym
        has it; one that is no number says nothing.
        """
        push, self._push = self._push, None
        if push is None:
            return
        told = {
            "outcome": outcome or _outcome_of(self._rewards),
            "end_reason": end_reason,
            "reward": self._rewards,
            "final_answer": _answer(self._before),
            "final_url": _field(self._before, "url") or None,
            **ending,
        }
        push.end({k: v for k, v in told.items() if v is not None}, wait_s=self._wait_s)

    def close(self) -> None:
        self._end_early()
        self.env.close()

    def _end_early(self) -> None:
        """The agent stopped, or began anew, before the environment said that it is over."""
        if self._push is None:
            return
        # What it saw last, and did nothing about.
        self._push.step({"observation": _seen(self._before, ""), **self._note})
        self.end(end_reason="agent_stopped")

    def _end_by(self, error: BaseException, origin: str) -> None:
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            self.end(outcome="incomplete", end_reason="cancelled", reward=None)
        else:
            told = {"message": message, "origin": origin}
            self.end(outcome="error", end_reason="exception", reward=None, error=told)


def _outcome_of(rewards: float) -> str:
    if not isfinite(rewards):
        return "unknown"
    return "success" if rewards > 0 else "failure"


def _seen(observation: Any, action: str) -> Json:
    """What a step needs of an observation, nothing of it worked on yet."""
    if isinstance(observation, str):
        return {"axtree": observation}
    if not isinstance(observation, Mapping):
        return {"screenshot": observation} if hasattr(observation, "shape") else {}
    titles = _field(observation, "open_pages_titles")
    active = _field(observation, "active_page_index")
    place = int(active[0]) if active is not None and len(active) else 0
    known = _field(observation, "extra_element_properties") or {}
    named = re.findall(r"""['"](\w+)['"]""", action[:10_000])
    boxes = {bid: list(known[bid]["bbox"]) for bid in named if known.get(bid, {}).get("bbox")}
    return {
        "url": _field(observation, "url"),
        "title": titles[place] if titles and place < len(titles) else None,
        "axtree": observation.get("axtree_txt") or _field(observation, "axtree_object"),
        "screenshot": _field(observation, "screenshot"),
        "focused": _field(observation, "focused_element_bid") or None,
        "boxes": boxes,
        "at": _now(),
    }


def _field(observation: Any, name: str) -> Any:
    return observation.get(name) if isinstance(observation, Mapping) else None


def _goal(observation: Any) -> str | None:
    parts = _field(observation, "goal_object") or ()
    words = [str(part.get("text")) for part in parts if part.get("type") == "text"]
    return "\n".join(words) or _field(observation, "goal") or None


def _task_of(env: Any, goal: str | None) -> Json:
    """The environment's own name as a task: `browsergym/miniwob.click-test` is of `miniwob`."""
    name = str(getattr(getattr(env, "spec", None), "id", None) or "").removeprefix("browsergym/")
    if not name:
        return {"goal": goal or "An episode without a goal."}
    return {"task_set": name.partition(".")[0], "id": name, "goal": goal or name}


def _answer(observation: Any) -> str | None:
    """The last thing that the agent told the user; the greeting before the goal is no answer."""
    messages = list(_field(observation, "chat_messages") or ())
    roles = [message.get("role") for message in messages]
    first = roles.index("user") if "user" in roles else -1
    said = [m.get("message") for m in messages[first + 1 :] if m.get("role") == "assistant"]
    return str(said[-1]) if said else None


def _now() -> str:
    return datetime.now(UTC).isoformat()
