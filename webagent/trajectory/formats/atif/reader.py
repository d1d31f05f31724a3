"""Read ATIF documents; those that we wrote ourselves come back as they were."""

import posixpath
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

from webagent.trajectory.bundles import UNKNOWN, RunBundle, task_record
from webagent.trajectory.files.assembling import (
    Ending,
    RunFiles,
    dollars,
    experiment_above,
    first_start,
    goal_pictures,
    model_names,
    outcome_of,
    reward_evaluation,
    task_name_of,
    task_set_of,
)
from webagent.trajectory.files.recognition import PlacesReader, RunPlace, outline, unreadable
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.atif.steps import Steps
from webagent.trajectory.formats.atif.writer import EXTRA_KEY, FILES_KEY, restored
from webagent.trajectory.intake import Bounds, InputError
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EndReason,
    ErrorRecord,
    Outcome,
    TaskRecord,
    Totals,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import (
    cost,
    count,
    counts,
    flag,
    items,
    mapping,
    not_empty,
    number,
    said,
    text,
    whole,
)

FORMAT = "atif"
SCHEMA = "ATIF"
"""What a document's `schema_version` begins with."""
_BESIDE = ("images", "files", "audio")


def find_documents(tree: Tree) -> dict[str, list[str]]:
    """Every JSON file whose `schema_version` is ATIF's, by its folder."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in tree.names:
        if not name.endswith(".json"):
            continue
        head = outline(tree, name)
        if head.kind == "object" and head.texts.get("schema_version", "").startswith(SCHEMA):
            found[name.rpartition("/")[0]].append(name)
    return found


def file_beside(tree: Tree, folder: str, path: str) -> str | None:
    """The file that a document's relative path names, if it lies in the document's folder."""
    if not path or "://" in path or path.startswith("/") or "\\" in path:
        return None
    inside = posixpath.normpath(path)
    if inside.startswith("../") or inside == "..":
        return None
    name = f"{folder}/{inside}".lstrip("/")
    return name if name in tree else None


def named_paths(value: dict[str, Any]) -> list[str]:
    """Every file that a trajectory's messages and observations name, each once, in order."""
    paths: dict[str, None] = {}
    for step in map(mapping, items(value.get("steps"))):
        contents = [step.get("message")]
        results = items(mapping(step.get("observation")).get("results"))
        contents += [mapping(result).get("content") for result in results]
        for content in contents:
            for part in map(mapping, items(content)):
                if path := text(mapping(part.get("source")).get("path")):
                    paths.setdefault(path)
    for path in mapping(
        mapping(mapping(value.get("extra")).get(EXTRA_KEY)).get(FILES_KEY)
    ).values():
        if isinstance(path, str):
            paths.setdefault(path)
    return list(paths)


def _folder_above(name: str) -> str | None:
    """The document's folder, for a file in one of the folders that lie beside a document."""
    above, _, kind = name.rpartition("/")[0].rpartition("/")
    return above if kind in _BESIDE else None


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace]:
    documents = find_documents(tree)
    beside: dict[str | None, list[str]] = {folder: [] for folder in documents}
    for name in tree.names:
        if (above := _folder_above(name)) in beside:
            beside[above].append(name)
    for folder, names in documents.items():
        for name in names:
            # As people would call it: its folder where that holds nothing else of the kind.
            place = folder if folder and len(names) == 1 else name
            yield RunPlace(
                path=place,
                files={name: name},
                own=(name,),
                beside=beside[folder],
                file=name,
                read=partial(_bundle, name, place),
            )


def _bundle(name: str, place: str, files: RunFiles) -> RunBundle:
    value = mapping(files.read_json(name))
    if not (text(value.get("schema_version")) or "").startswith(SCHEMA):
        raise unreadable(files, name, name, "schema_version", "not a JSON object")
    folder = name.rpartition("/")[0]
    paths = {path: file_beside(files.tree, folder, path) for path in named_paths(value)}
    files.files = {name: name} | {p: n for p, n in paths.items() if n}
    files.run_id = bounded_name(place)
    return restored(files, value, name) or _foreign(files, name, value)


ATIF = PlacesReader(FORMAT, "*.json: schema_version ATIF-…", _places)


def _foreign(files: RunFiles, name: str, value: dict[str, Any]) -> RunBundle:
    """A document of another tool."""
    agent, extra = mapping(value.get("agent")), mapping(value.get("extra"))
    totals, turns = mapping(value.get("final_metrics")), items(value.get("steps"))
    if not turns:
        raise InputError("steps", "none", file=name)
    model, version = text(agent.get("model_name")), text(agent.get("version"))
    goal = _goal_words(turns)
    files.redactor = Redactor(goal)
    reader = Steps(files, model)
    steps = reader.read(turns)
    _note_what_is_elsewhere(files, value)
    task = _task(files, "\n".join(reader.goal) or goal, reader.goal_pictures, extra)
    config = not_empty({key: agent.get(key) for key in ("tool_definitions", "extra")})
    kept = {key: value.get(key) for key in ("session_id", "trajectory_id", "notes")} | {
        "final_metrics": totals.get("extra"),
        "extra": {key: item for key, item in extra.items() if key not in _READ_EXTRA},
    }
    end = _ending(files, extra)
    return files.assemble(
        task,
        steps,
        name,
        format_version=text(value.get("schema_version")),
        evaluations=() if end.reward is None else (reward_evaluation(files.run_id, end),),
        agent=AgentRecord(
            name=files.clean_name(agent.get("name")) or UNKNOWN,
            version=bounded_name(version) if version else None,
            config=files.clean_json(config) or None,
        ),
        models=model_names([model, *(call.model for step in steps for call in step.llm_calls)]),
        experiment=experiment_above(name.rpartition("/")[0], files.given_name),
        seed=whole(extra.get("seed"), "seed"),
        started_at=first_start(steps),
        ended_at=max((step.started_at for step in steps if step.started_at), default=None),
        **vars(end),
        final_answer=reader.final_answer,
        totals=Totals(
            **counts(
                totals,
                input_tokens="total_prompt_tokens",
                cached_tokens="total_cached_tokens",
                output_tokens="total_completion_tokens",
            ),
            **dollars(cost(totals.get("total_cost_usd"), "total_cost_usd")),
        ),
        extra=files.free_form(not_empty(_cleaned(files, kept)), "extra"),
        originals=(files.original(name.rpartition("/")[2], _cleaned(files, value)),),
    )


def _cleaned(files: RunFiles, value: dict[str, Any]) -> dict[str, Any]:
    """The document without secrets; its `session_id` names the run and opens nothing."""
    named = {key: value[key] for key in ("session_id",) if isinstance(value.get(key), str)}
    rest = {key: item for key, item in value.items() if key not in named}
    return mapping(files.clean_json(rest)) | named


def _goal_words(turns: list[Any]) -> str:
    """What the user said first, however it is written."""
    for turn in map(mapping, turns):
        if turn.get("source") == "user":
            return "\n".join(said(turn.get("message")))
    return ""


def _task(
    files: RunFiles, goal: str, pictures: list[BlobRecord], extra: dict[str, Any]
) -> TaskRecord:
    """The task by its name, where the writer gave one; else by the words of its goal."""
    named = files.clean_name(extra.get("task")) or files.clean_name(extra.get("task_id"))
    task_set = task_set_of(named or FORMAT, {})
    return task_record(
        task_set.name,
        named or task_name_of(goal),
        version=task_set.version,
        goal=(*files.goal(goal), *goal_pictures(pictures)),
    )


_READ_EXTRA = frozenset(
    ("task", "task_id", "seed", "cum_reward", "reward", "terminated", "truncated", "err_msg")
)


def _ending(files: RunFiles, extra: dict[str, Any]) -> Ending:
    """ATIF has no outcome; what converters put into `extra` is read as AgentLab's summary."""
    reward = number(extra.get("cum_reward"), "cum_reward")
    reward = number(extra.get("reward"), "reward") if reward is None else reward
    if message := files.clean(extra.get("err_msg")):
        return Ending(Outcome.ERROR, EndReason.EXCEPTION, reward, ErrorRecord(message=message))
    reason = EndReason.MAX_STEPS if flag(extra.get("truncated")) else EndReason.UNKNOWN
    if flag(extra.get("terminated")):
        reason = EndReason.TASK_ENDED
    return Ending(outcome_of(reward), reason, reward)


def _note_what_is_elsewhere(files: RunFiles, value: dict[str, Any]) -> None:
    turns = [mapping(turn) for turn in items(value.get("steps"))]
    numbers = (whole(turn.get("step_id")) for turn in turns)
    files.inventory.numbered("step", "steps", numbers, first=1)
    counted = count(mapping(value.get("final_metrics")).get("total_steps"))
    if counted is not None and counted > len(turns):
        why = f"final_metrics counts {counted}, {len(turns)} are here"
        files.inventory.miss("step", "steps", why)
    if others := items(value.get("subagent_trajectories")):
        why = f"{len(others)} agents that were called are kept in the original, not as runs"
        files.note("subagent", "subagent_trajectories", why)
    if value.get("continued_trajectory_ref"):
        files.note("step", "continued_trajectory_ref", "the run goes on in another document")
