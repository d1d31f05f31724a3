"""Which runs are attempts at the same thing, and in which order they were made."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass

from webagent.trajectory.agentlab.folders import RunFolder
from webagent.trajectory.agentlab.settings import ExpArgs


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run stands among the others."""

    run_id: str
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
    found: dict[int, Place] = {}
    order: list[int] = []
    for indices in attempts.values():
        chain = sorted(indices, key=lambda i: _age(*runs[i]))
        order += chain
        for position, index in enumerate(chain):
            hidden_before = [i for i in chain[:position] if runs[i][0].hidden]
            later = chain[position + 1 :] if runs[index][0].hidden else []
            found[index] = Place(
                run_id=_run_id(*runs[index]),
                attempt=1 + len(hidden_before),
                retry_of=_run_id(*runs[hidden_before[-1]]) if hidden_before else None,
                superseded_by=_run_id(*runs[later[0]]) if later else None,
            )
    trials = _trials(runs)
    return [(i, Place(**{**vars(found[i]), "trial": trials[_same_run(*runs[i])]})) for i in order]


def _same_run(folder: RunFolder, exp: ExpArgs) -> tuple[str, ...]:
    if exp.exp_id:
        return (folder.parent, exp.exp_id)
    return (folder.parent, folder.name.lstrip("_."))


def _age(folder: RunFolder, exp: ExpArgs) -> tuple[str, bool, str]:
    return (exp.exp_date, not folder.hidden, folder.name)


def _trials(runs: list[tuple[RunFolder, ExpArgs]]) -> dict[tuple[str, ...], int]:
    """The how-maniest time the same agent did the same task in the same study."""
    first_age: dict[tuple[str, ...], tuple[str, bool, str]] = {}
    group_of: dict[tuple[str, ...], tuple[str, ...]] = {}
    for folder, exp in runs:
        key = _same_run(folder, exp)
        first_age[key] = min(first_age.get(key, _age(folder, exp)), _age(folder, exp))
        group_of[key] = (folder.parent, exp.agent_name, exp.task_name)
    numbers: dict[tuple[str, ...], int] = {}
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    for key in sorted(first_age, key=lambda k: first_age[k]):
        counts[group_of[key]] += 1
        numbers[key] = counts[group_of[key]]
    return numbers


def _run_id(folder: RunFolder, exp: ExpArgs) -> str:
    seed = "\0".join((folder.path or folder.name, exp.exp_id or ""))
    return "agentlab-" + hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:32]
