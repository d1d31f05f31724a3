"""Folders of AgentLab's runs, to be changed and damaged."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.reading import open_runs

SCRIPTED = Path(__file__).parents[2] / "data" / "agentlab" / "scripted"
LOGIN = "ScriptedAgent-login_on_miniwob.login-user_5"


def only(folder: Path, bounds: Bounds | None = None) -> RunBundle:
    with open_runs(folder, bounds=bounds) as source:
        (bundle,) = source
    assert isinstance(bundle, RunBundle), bundle
    return bundle


def notes(bundle: RunBundle) -> list[tuple[str, str]]:
    assert [(gap.where, gap.why) for gap in bundle.run.gaps] == [
        (problem.file, problem.reason) for problem in bundle.problems
    ]
    return [(problem.file, problem.reason) for problem in bundle.problems]


def repickle(path: Path, change: Callable[[Any], Any]) -> None:
    """Write a step file again with another content (no class of it is importable here)."""

    class Shell(dict[str, Any]):
        def __setstate__(self, state: dict[str, Any]) -> None:
            self.update(state)

    class Loader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.startswith("numpy"):
                return super().find_class(module, name)
            return type(name, (Shell,), {})

    with gzip.open(path) as file:
        step = dict(Loader(file).load())
    step["agent_info"] = dict(step["agent_info"])
    step["profiling"] = dict(step["profiling"])
    path.write_bytes(gzip.compress(pickle.dumps(change(step))))
