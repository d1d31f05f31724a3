"""What a run was asked to do, from `exp_args.pkl`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.records import Json
from webagent.trajectory.redaction import REDACTED, is_secret_key
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.untyped import flag, mapping, text, whole

UNKNOWN = "unknown"
_RUN_NAME = re.compile(
    r"^[_.]*(?:\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_)?(?P<agent>.+?)_on_(?P<task>.+?)_(?P<seed>\d+)"
)
_LOGGED_NAME = re.compile(r"Running experiment (\S+) in:")
_MAX_MODELS = 20


@dataclass(frozen=True, kw_only=True)
class ExpArgs:
    """The settings that are understood; the whole of them is kept beside, as an artefact."""

    readable: bool
    loop: str | None = None
    task_name: str = UNKNOWN
    seed: int | None = None
    max_steps: int | None = None
    agent_name: str = UNKNOWN
    agent_config: Json | None = None
    models: tuple[str, ...] = ()
    exp_id: str | None = None
    exp_date: str = ""
    viewport: tuple[int, int] | None = None
    save_screenshot: bool = True
    """The loop's own default."""


def read_exp_args(value: Any) -> ExpArgs:
    """The settings in an inert `ExpArgs`; not `readable` if it is something else."""
    fields = mapping(value)
    env, agent = mapping(fields.get("env_args")), mapping(fields.get("agent_args"))
    if not text(env.get("task_name")):
        return ExpArgs(readable=False)
    viewport = mapping(env.get("viewport"))
    width, height = whole(viewport.get("width")), whole(viewport.get("height"))
    name = text(agent.get("agent_name"))
    return ExpArgs(
        readable=True,
        loop=(text(fields.get("$class")) or "").rpartition(".")[0] or None,
        task_name=bounded_name(str(env["task_name"])),
        seed=whole(env.get("task_seed")),
        max_steps=whole(env.get("max_steps")),
        agent_name=bounded_name(name or _agent_of(text(fields.get("exp_name"))) or UNKNOWN),
        agent_config=without_secrets(agent) or None,
        models=_models(agent),
        exp_id=text(fields.get("exp_id")),
        exp_date=text(fields.get("exp_date")) or "",
        viewport=(width, height) if width and height else None,
        save_screenshot=flag(fields.get("save_screenshot")) is not False,
    )


def exp_args_from_name(folder_name: str, log: str) -> ExpArgs:
    """What the log's first lines, or else the folder's name, say of agent, task and seed."""
    logged = _LOGGED_NAME.search(log[:10_000])
    match = _RUN_NAME.match(logged[1]) if logged else None
    match = match or _RUN_NAME.match(folder_name)
    if match is None:
        return ExpArgs(readable=False)
    return ExpArgs(
        readable=False,
        task_name=bounded_name(match["task"]),
        agent_name=bounded_name(match["agent"]),
        seed=whole(int(match["seed"][:18])),
    )


def without_secrets(value: Any) -> Any:
    """The same with the text under keys such as `api_key` replaced."""
    if isinstance(value, dict):
        return {
            key: REDACTED
            if isinstance(item, str) and item and is_secret_key(key)
            else without_secrets(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return value


def holds_secrets(value: Any) -> bool:
    """Whether `without_secrets` replaces anything."""
    return bool(without_secrets(value) != value)


def _agent_of(exp_name: str | None) -> str | None:
    return exp_name.partition("_on_")[0] or None if exp_name else None


def _models(agent: dict[str, Any]) -> tuple[str, ...]:
    """Every `model_name` inside the agent's settings, in order."""
    found: dict[str, None] = {}

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if name := text(value.get("model_name")):
                found.setdefault(bounded_name(name))
            for item in value.values():
                look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)

    look(agent)
    return tuple(found)[:_MAX_MODELS]
