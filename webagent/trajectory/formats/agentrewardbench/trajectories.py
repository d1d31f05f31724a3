"""Trajectories: their files, annotations by run, and their steps, which are AgentLab's in JSON."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.bundles import same_task
from webagent.trajectory.files.recognition import outline
from webagent.trajectory.files.trees import Tree, TreeError, read_file
from webagent.trajectory.formats.agentlab.folders import RunFiles, RunFolder
from webagent.trajectory.formats.agentlab.stepfiles import StepFile, boxes_of
from webagent.trajectory.formats.agentlab.steps import Steps, typed_passwords
from webagent.trajectory.formats.agentrewardbench.verdicts import (
    ANNOTATIONS,
    REFUSAL,
    Annotation,
    is_annotations,
    is_refused,
    read_annotations,
)
from webagent.trajectory.intake import BoundError, Bounds, Problem
from webagent.trajectory.texts import EncodingError, decoded
from webagent.trajectory.values import flag, items, mapping, text, whole

FORMAT = "agentrewardbench"
Key = tuple[str, str, str]
"""Benchmark, agent, task id as `same_task` spells it: what joins the files of one run."""

_TRAJECTORY = ("benchmark", "agent", "goal", "summary_info", "steps")
_OF_STEPS = ("num", "action")
_OF_SUMMARIES = ("n_steps", "cum_reward")
_JUDGMENT = ("benchmark", "agent", "judge")
_PICTURE = re.compile(r"^screenshot_step_(\d{1,9})\.(?:png|jpe?g|webp)$")


@dataclass(frozen=True)
class Trajectory:
    """One trajectory's file and what belongs to it, as names in the tree."""

    name: str
    key: Key
    judgments: tuple[str, ...] = ()
    pictures: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """What of the benchmark is in a tree."""

    trajectories: tuple[Trajectory, ...] = ()
    annotations: tuple[str, ...] = ()
    """CSV files."""
    strays: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    """Judgments of trajectories that are not here."""
    unreadable: tuple[str, ...] = ()
    """Where judgments lie, and none themselves."""

    def uses(self) -> frozenset[str]:
        """All that belongs to the trajectories beside themselves."""
        own = (name for t in self.trajectories for name in (*t.judgments, *t.pictures.values()))
        strays = (name for names in self.strays.values() for name in names)
        return frozenset((*own, *self.annotations, *strays, *self.unreadable))


def find_layout(tree: Tree) -> Layout:
    """The trajectories with their judgments and pictures, and the annotations."""
    found: list[tuple[str, Key]] = []
    judgments: dict[Key, list[str]] = defaultdict(list)
    unreadable: list[str] = []
    for name in tree.names:
        if not name.endswith(".json"):
            continue
        if (key := _key(tree, name, _JUDGMENT)) or (key := _failed_key(name)):
            judgments[key].append(name)
        elif (key := _key(tree, name, _TRAJECTORY)) and _is_of_agentlab(tree, name):
            found.append((name, key))
        elif _is_placed(name):
            unreadable.append(name)
    annotations = [n for n in tree.names if n.endswith(".csv") and is_annotations(tree, n)]
    if not (found or judgments or annotations):
        return Layout()
    named = (n for n in tree.names if n.rpartition("/")[2] == ANNOTATIONS)
    pictures = _pictures(tree)
    return Layout(
        trajectories=tuple(
            Trajectory(name, key, tuple(judgments.pop(key, ())), _own_pictures(name, key, pictures))
            for name, key in found
        ),
        annotations=tuple(dict.fromkeys((*annotations, *named))),
        strays={key: tuple(names) for key, names in judgments.items()},
        unreadable=tuple(unreadable),
    )


def _key(tree: Tree, name: str, keys: tuple[str, ...]) -> Key | None:
    seen = outline(tree, name)
    if not seen.has(*keys):
        return None
    task_id = name.rpartition("/")[2].removesuffix(".json").removesuffix(REFUSAL)
    return seen.texts.get("benchmark", ""), seen.texts.get("agent", ""), same_task(task_id)


def _is_of_agentlab(tree: Tree, name: str) -> bool:
    """Whether something in it is as AgentLab's steps and summaries are."""
    inner = outline(tree, name).inner
    return inner.issuperset(_OF_STEPS) or inner.issuperset(_OF_SUMMARIES)


def _is_placed(name: str) -> bool:
    """Whether it lies where judgments do: judgments/benchmark/agent/judge/."""
    return name.split("/")[-5:-4] == ["judgments"]


def _failed_key(name: str) -> Key | None:
    """Of a judgment that failed, by its place: judgments/benchmark/agent/judge/task_error.json."""
    parts = name.split("/")
    if not _is_placed(name) or not is_refused(name):
        return None
    return parts[-4], parts[-3], same_task(parts[-1].removesuffix(f"{REFUSAL}.json"))


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


def without_trajectory(layout: Layout, annotations: Mapping[Key, list[Annotation]]) -> list[Key]:
    """The runs of which there are but verdicts, in the order of the files."""
    here = {trajectory.key for trajectory in layout.trajectories}
    return [key for key in dict.fromkeys((*annotations, *layout.strays)) if key not in here]


def annotations_of(
    tree: Tree, layout: Layout, bounds: Bounds
) -> tuple[dict[Key, list[Annotation]], list[Problem]]:
    """The annotations by run, and what of them cannot be read."""
    found: dict[Key, list[Annotation]] = defaultdict(list)
    problems: list[Problem] = []
    for name in layout.annotations:
        try:
            content = decoded(read_file(tree, name, bounds.json_bytes))
        except (TreeError, BoundError, EncodingError) as error:
            problems.append(Problem(tree.label, name, "", str(error)))
            continue
        told = [("", "no annotations: its first line lacks their columns")]
        if is_annotations(tree, name):
            told = list(_sorted_by_run(content, found))
        problems += (Problem(tree.label, name, field, why) for field, why in told)
    return found, problems


def _sorted_by_run(content: str, found: dict[Key, list[Annotation]]) -> Iterator[tuple[str, str]]:
    """Put the rows of a file to their runs; field and reason of those that say too little."""
    lacking, unknown = [], []
    for annotation in read_annotations(content):
        row = annotation.row
        if not annotation.is_whole:
            lacking.append(annotation.line)
            continue
        if annotation.success is None:
            unknown.append(annotation.line)
        key = (
            row["benchmark"].strip(),
            row["model_name"].strip(),
            same_task(row["task_id"].strip()),
        )
        found[key].append(annotation)
    if lacking:
        why = f"{len(lacking)} rows lack a name, task or word, the first in line {lacking[0]}"
        yield "row", why
    if unknown:
        why = f"{len(unknown)} rows have another word than is known, first line {unknown[0]}"
        yield "trajectory_success", why


_OBS_KEYS = {
    "url": "url",
    "open_pages_urls": "open_pages_urls",
    "focused_element": "focused_element_bid",
    "last_action_error": "last_action_error",
    "axtree": "axtree_txt",
}
"""Key in the trajectory -> key in BrowserGym's observation."""
_AGAIN = "extra_element_properties"
_RAW = ("axtree_obj", "axtree_pruned")


class JsonSteps(Steps):
    """Steps out of one document instead of pickles: the mapping is the same."""

    def __init__(
        self,
        files: RunFiles,
        models: tuple[str, ...],
        listed: dict[int, dict[str, Any]],
        summary: dict[str, Any],
    ) -> None:
        super().__init__(files, None, models)
        self._listed = listed
        self._truncated = flag(summary.get("truncated"))

    def _file(self, number_: int) -> StepFile | None:
        item = self._listed.get(number_)
        if item is None:
            self._files.inventory.miss("step", f"step {number_}")
            return None
        is_last = number_ == max(self._listed)
        step = step_file(item, number_, truncated=self._truncated if is_last else None)
        return self._taken(step)


def numbered(document: dict[str, Any], most: int) -> dict[int, dict[str, Any]]:
    """The steps by their own number; those without one by their place."""
    found: dict[int, dict[str, Any]] = {}
    for place, item in enumerate(items(document.get("steps"))[: most + 1]):
        step = mapping(item)
        own = whole(step.get("num"))
        found[own if own is not None and 0 <= own <= most else place] = step
    return found


def step_file(item: dict[str, Any], number_: int, *, truncated: bool | None) -> StepFile:
    """One step as AgentLab's file of it would say."""
    action = text(item.get("action"))
    actions = parse_browsergym_actions(action) if action else ()
    said = {"think": item.get("reasoning"), "chat_messages": item.get("chat_messages")}
    stats = mapping(item.get("stats"))
    boxes = mapping(item.get("bounding_boxes")) or mapping(item.get(_AGAIN))
    return StepFile(
        number=number_,
        obs={theirs: item[own] for own, theirs in _OBS_KEYS.items() if item.get(own)},
        raw_obs=None,
        action=action,
        actions=actions,
        agent_info=said if any(said.values()) or stats else {},
        stats=stats,
        truncated=truncated,
        boxes=boxes_of(actions, boxes.get),
        axtree=None if text(item.get("axtree")) else item.get("axtree_obj"),
        picture=(text(item.get("screenshot_path")) or "").replace("\\", "/").rpartition("/")[2]
        or None,
    )


def tell_dropped(files: RunFiles, listed: dict[int, dict[str, Any]]) -> None:
    """Say what of the steps is not looked at."""
    twice = [step for step in listed.values() if step.get(_AGAIN)]
    if twice and all(step.get("bounding_boxes") == step[_AGAIN] for step in twice):
        files.drop(_AGAIN, "steps", "the same as bounding_boxes")
    for key in _RAW:
        if any(step.get(key) for step in listed.values()):
            files.drop(key, "steps", "the text of the tree is shown; this stays in the original")


def run_folder(name: str, pictures: dict[int, str]) -> RunFolder:
    """The folder that AgentLab's mapping expects, with the pictures under their own names."""
    folder, _, last = name.rpartition("/")
    own = {number: path.rpartition("/")[2] for number, path in pictures.items()}
    return RunFolder(
        path=name.removesuffix(".json"),
        name=last.removesuffix(".json"),
        files={last: name} | {own[number]: path for number, path in pictures.items()},
        screenshots=own,
    )


def passwords(listed: dict[int, dict[str, Any]], limit: int) -> Iterator[str]:
    """What was typed into fields whose names ask for a password."""
    for number_, item in listed.items():
        yield from typed_passwords(step_file(item, number_, truncated=None), limit)
