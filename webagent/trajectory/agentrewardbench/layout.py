"""Which files are trajectories, and which judgments, pictures and annotations are theirs."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from webagent.trajectory.agentrewardbench.annotations import is_annotations
from webagent.trajectory.recognition import outline
from webagent.trajectory.trees import Tree

Key = tuple[str, str, str]
"""Benchmark, agent, task id as `same_task` spells it: what joins the files of one run."""

_TRAJECTORY = ("benchmark", "agent", "goal", "summary_info", "steps")
_OF_STEPS = ("num", "action")
_OF_SUMMARIES = ("n_steps", "cum_reward")
_JUDGMENT = ("benchmark", "agent", "judge")
_FAILED = "_error"
_VARIANT = re.compile(r"\.(?:resized|improved)(?=\.|$)")
_PICTURE = re.compile(r"^screenshot_step_(\d{1,9})\.(?:png|jpe?g|webp)$")


@dataclass(frozen=True)
class Trajectory:
    """One trajectory's file and what belongs to it, as names in the tree."""

    name: str
    key: Key
    judgments: tuple[str, ...] = ()
    pictures: dict[int, str] = field(default_factory=dict)

    @property
    def task_id(self) -> str:
        """As the file is called."""
        return self.name.rpartition("/")[2].removesuffix(".json")


@dataclass(frozen=True)
class Layout:
    """What of the benchmark is in a tree."""

    trajectories: tuple[Trajectory, ...] = ()
    annotations: tuple[str, ...] = ()
    """CSV files."""
    strays: tuple[str, ...] = ()
    """Judgments of trajectories that are not here."""

    def uses(self) -> frozenset[str]:
        """All that belongs to the trajectories beside themselves."""
        own = (name for t in self.trajectories for name in (*t.judgments, *t.pictures.values()))
        return frozenset((*own, *self.annotations, *self.strays))


def is_refused(name: str) -> bool:
    """Whether a judgment's file says that the judge's provider refused."""
    return name.endswith(f"{_FAILED}.json")


def same_task(task_id: str) -> str:
    """The task's id without the words that mark variants of its files."""
    return _VARIANT.sub("", task_id)


def find_layout(tree: Tree) -> Layout:
    """The trajectories with their judgments and pictures, and the annotations."""
    found: list[tuple[str, Key]] = []
    judgments: dict[Key, list[str]] = defaultdict(list)
    for name in tree.names:
        if not name.endswith(".json"):
            continue
        if (key := _key(tree, name, _JUDGMENT)) or (key := _failed_key(name)):
            judgments[key].append(name)
        elif (key := _key(tree, name, _TRAJECTORY)) and _is_of_agentlab(tree, name):
            found.append((name, key))
    if not found:
        return Layout()
    pictures = _pictures(tree)
    return Layout(
        trajectories=tuple(
            Trajectory(name, key, tuple(judgments.pop(key, ())), _own_pictures(name, key, pictures))
            for name, key in found
        ),
        annotations=tuple(n for n in tree.names if n.endswith(".csv") and is_annotations(tree, n)),
        strays=tuple(name for names in judgments.values() for name in names),
    )


def _key(tree: Tree, name: str, keys: tuple[str, ...]) -> Key | None:
    seen = outline(tree, name)
    if not seen.has(*keys):
        return None
    task_id = name.rpartition("/")[2].removesuffix(".json").removesuffix(_FAILED)
    return seen.texts.get("benchmark", ""), seen.texts.get("agent", ""), same_task(task_id)


def _is_of_agentlab(tree: Tree, name: str) -> bool:
    """Whether something in it is as AgentLab's steps and summaries are."""
    inner = outline(tree, name).inner
    return inner.issuperset(_OF_STEPS) or inner.issuperset(_OF_SUMMARIES)


def _failed_key(name: str) -> Key | None:
    """Of a judgment that failed, by its place: judgments/benchmark/agent/judge/task_error.json."""
    parts = name.split("/")
    if len(parts) < 5 or parts[-5] != "judgments" or not is_refused(name):
        return None
    return parts[-4], parts[-3], same_task(parts[-1].removesuffix(f"{_FAILED}.json"))


def _pictures(tree: Tree) -> dict[str, dict[int, str]]:
    """Folder -> number of the step -> picture."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for name in tree.names:
        folder, _, last = name.rpartition("/")
        if match := _PICTURE.match(last):
            found[folder].setdefault(int(match[1]), name)
    return found


def _own_pictures(name: str, key: Key, pictures: dict[str, dict[int, str]]) -> dict[int, str]:
    """From `<benchmark>/<agent>/<task>/`, wherever that lies; else from beside the trajectory."""
    benchmark, agent, task = key
    exact = f"/{benchmark}/{agent}/{name.rpartition('/')[2].removesuffix('.json')}"
    found = next((n for folder, n in pictures.items() if f"/{folder}".endswith(exact)), None)
    if found is None:
        # The folder may be called by another variant of the task's id.
        end = f"/{benchmark}/{agent}/{task}"
        ends = (n for folder, n in pictures.items() if same_task(f"/{folder}").endswith(end))
        found = next(ends, None)
    return pictures.get(name.rpartition("/")[0], {}) if found is None else found
