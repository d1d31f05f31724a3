"""Which folders are runs, which files belong to each, and what each run was asked to do."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.bundles import UNKNOWN
from webagent.trajectory.files import assembling
from webagent.trajectory.files.pickle_reader import Pickled
from webagent.trajectory.files.recognition import folders_with
from webagent.trajectory.files.trees import Tree, given_name
from webagent.trajectory.intake import NO_NUMBER, Bounds
from webagent.trajectory.records import Json
from webagent.trajectory.redaction import REDACTED, is_secret_key
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import every, flag, mapping, text, whole

EXP_ARGS = "exp_args.pkl"
SUMMARY = "summary_info.json"
LOG = "experiment.log"
PACKAGES = "package_versions.txt"
GOAL = "goal_object.pkl.gz"

_STEP = re.compile(r"^step_(\d{1,9})\.pkl\.gz$")
_SCREENSHOT = re.compile(r"^screenshot_(som_)?step_(\d{1,9})\.(png|jpe?g|webp|gif)$")
_HIDDEN = ("_", ".")


@dataclass(frozen=True)
class RunFolder:
    """One run's folder: its files by the path inside it."""

    path: str
    """Inside the tree; empty if the tree itself is the run."""
    name: str
    files: dict[str, str] = field(default_factory=dict)
    """Path inside the folder -> name in the tree."""
    steps: dict[int, str] = field(default_factory=dict)
    screenshots: dict[int, str] = field(default_factory=dict)
    marked: dict[int, str] = field(default_factory=dict)

    @property
    def hidden(self) -> bool:
        """Whether AgentLab moved it aside for another attempt."""
        return self.name.startswith(_HIDDEN)

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0]

    def rest(self) -> Iterator[str]:
        """Paths of the files that are neither steps nor pictures of steps."""
        for path in sorted(self.files):
            if not (_STEP.match(path) or _SCREENSHOT.match(path)):
                yield path


def find_run_folders(tree: Tree) -> list[RunFolder]:
    """Every folder with an `exp_args.pkl`, at any depth, with the files that are its own."""
    found = folders_with(tree, lambda _, last: last == EXP_ARGS)
    folders = []
    for path, files in found.items():
        folder = RunFolder(path, path.rpartition("/")[2] or given_name(tree), files)
        for inside in files:
            if step := _STEP.match(inside):
                folder.steps[int(step[1])] = inside
            elif picture := _SCREENSHOT.match(inside):
                kind = folder.marked if picture[1] else folder.screenshots
                kind.setdefault(int(picture[2]), inside)
        folders.append(folder)
    return folders


class RunFiles(assembling.RunFiles):
    """The same as for every format, and which of the files are steps and pictures."""

    def __init__(self, tree: Tree, folder: RunFolder, bounds: Bounds, format: str) -> None:
        super().__init__(tree, folder.path, folder.files, bounds, format)
        self.folder = folder
        self.takes_pictures = True
        """Whether the loop was told to keep a picture of each step; it is unless told not to."""

    def check_pickle(self, pickled: Pickled, path: str) -> None:
        """Say what of a pickle was not run, and which of its numbers no record can hold."""
        if pickled.suspicious:
            names = ", ".join(pickled.suspicious)
            self.note("pickle", path, f"names {names}: nothing of it was run")
        for number in range(pickled.unkept):
            self.inventory.miss("value", f"{path}: {number + 1}", NO_NUMBER)


# Nothing is tried again: a log or a folder may hold ten thousand underscores.
_RUN_NAME = re.compile(
    r"^[_.]*+(?:\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_)?(?>(?P<agent>.+?)_on_)(?P<task>.+?)_(?P<seed>\d+)"
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
    name = (
        text(agent.get("agent_name")) or (text(fields.get("exp_name")) or "").partition("_on_")[0]
    )
    return ExpArgs(
        readable=True,
        loop=(text(fields.get("$class")) or "").rpartition(".")[0] or None,
        task_name=bounded_name(str(env["task_name"])),
        seed=whole(env.get("task_seed")),
        max_steps=whole(env.get("max_steps")),
        agent_name=bounded_name(name or UNKNOWN),
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


def _models(agent: dict[str, Any]) -> tuple[str, ...]:
    """Every `model_name` inside the agent's settings, in order."""
    named = (text(item.get("model_name")) for item in every(agent) if isinstance(item, dict))
    return assembling.model_names(named)[:_MAX_MODELS]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run stands among the others, under the names of a run's fields."""

    id: str
    trial: int = 1
    attempt: int = 1
    retry_of: str | None = None
    superseded_by: str | None = None


def places(runs: list[tuple[RunFolder, ExpArgs]]) -> list[tuple[int, Place]]:
    """Index and place of every run, earlier attempts before the later ones.

    AgentLab renames a run that it starts again to `_<name>`; the new one keeps its `exp_id`.
    A hidden run is superseded by the next attempt, if there is one.
    """
    attempts: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, (folder, exp) in enumerate(runs):
        attempts[_same_run(folder, exp)].append(index)
    chains = {key: sorted(each, key=lambda i: _age(*runs[i])) for key, each in attempts.items()}
    trials = _trials(runs, chains)
    found: list[tuple[int, Place]] = []
    for key, chain in chains.items():
        for position, index in enumerate(chain):
            hidden_before = [i for i in chain[:position] if runs[i][0].hidden]
            later = chain[position + 1 :] if runs[index][0].hidden else []
            place = Place(
                id=_run_id(*runs[index]),
                trial=trials[key],
                attempt=1 + len(hidden_before),
                retry_of=_run_id(*runs[hidden_before[-1]]) if hidden_before else None,
                superseded_by=_run_id(*runs[later[0]]) if later else None,
            )
            found.append((index, place))
    return found


def _same_run(folder: RunFolder, exp: ExpArgs) -> tuple[str, ...]:
    if exp.exp_id:
        return (folder.parent, exp.exp_id)
    return (folder.parent, folder.name.lstrip("_."))


def _age(folder: RunFolder, exp: ExpArgs) -> tuple[str, bool, str]:
    return (exp.exp_date, not folder.hidden, folder.name)


def _trials(
    runs: list[tuple[RunFolder, ExpArgs]], chains: dict[tuple[str, ...], list[int]]
) -> dict[tuple[str, ...], int]:
    """The how-maniest time the same agent did the same task in the same study."""
    numbers: dict[tuple[str, ...], int] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for key, chain in sorted(chains.items(), key=lambda each: _age(*runs[each[1][0]])):
        folder, exp = runs[max(chain)]
        group = (folder.parent, exp.agent_name, exp.task_name)
        counts[group] += 1
        numbers[key] = counts[group]
    return numbers


def _run_id(folder: RunFolder, exp: ExpArgs) -> str:
    seed = "\0".join((folder.path or folder.name, exp.exp_id or ""))
    return "agentlab-" + hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:32]
