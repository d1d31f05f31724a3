"""Launching the controls: agents that solve nothing, on the tasks that others are tried on."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from judging.analysis.experiments.controls import CONTROLS
from runs.launching.experiments.plans import Plan
from runs.launching.experiments.services import Launched, launch_experiment
from runs.models import Task, User
from webagent.agents.registry import make_agent

FEW_STEPS = 3
"""Doing nothing takes no more: what it shows it shows at the first step."""


def launch_controls(
    *, name: str, tasks: Iterable[Task], token: UUID, user: User | None
) -> Launched:
    """Queue one trial of every control agent on each task; the same token launches them once.

    Raises:
        PlanError: they cannot run here; the message says why.
    """
    plan = Plan(
        name=name,
        tasks=tuple(tasks),
        agents=tuple(make_agent(agent).describe() for agent in CONTROLS),
        max_steps=FEW_STEPS,
        in_background=True,
    )
    return launch_experiment(plan=plan, token=token, user=user)
