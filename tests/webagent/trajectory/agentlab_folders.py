"""Folders of AgentLab's runs, to be changed and damaged."""

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.webagent.trajectory.formats import DATA
from webagent.trajectory.bundles import RunBundle

SCRIPTED = DATA / "agentlab" / "scripted"
LOGIN = "ScriptedAgent-login_on_miniwob.login-user_5"


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
