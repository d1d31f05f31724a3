"""What the reruns that a policy asks for will take, told from past runs of their agents."""

from __future__ import annotations

from runs.catalogue.agents.runnable import agent_record_for
from runs.launching.experiments.estimates import Estimate, estimate
from runs.launching.experiments.plans import Plan
from runs.launching.policies.rerun_plans import RerunPlan
from runs.models import Task, User
from webagent.trajectory.records import AgentRecord


def estimate_reruns(plan: RerunPlan, user: User | None) -> Estimate | None:
    """The estimate over all agents that would run; None if nothing would."""
    tasks: dict[str, tuple[AgentRecord, list[Task]]] = {}
    for row in plan.reruns:
        if row.last is not None and row.rule is not None:
            agent = agent_record_for(row.last, row.rule.agent)
            tasks.setdefault(agent.model_dump_json(), (agent, []))[1].append(row.last.task)
    if not tasks:
        return None
    parts = [
        estimate(Plan(name="", tasks=tuple(its_tasks), agents=(agent,)), user)
        for agent, its_tasks in tasks.values()
    ]
    return Estimate(
        n_runs=sum(part.n_runs for part in parts),
        browsers=parts[0].browsers,
        agents=tuple(agent for part in parts for agent in part.agents),
    )
