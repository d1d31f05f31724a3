"""What runs that are imported together share."""

from __future__ import annotations

from runs.agents import agent_hash, store_agent
from runs.links import RunLinks
from runs.models import AgentConfiguration, Experiment, Task, User
from runs.task_rows import store_task
from webagent.agents.running import SOURCE_FORMAT
from webagent.trajectory.canonical import canonical_json
from webagent.trajectory.records import RunRecord, TaskRecord


class ImportSession:
    """Tasks, agents and experiments, each looked up once, and the links between the runs."""

    def __init__(self, *, user: User | None = None, thumbnails_follow: bool = False) -> None:
        self.user = user
        self.thumbnails_follow = thumbnails_follow
        self.links = RunLinks()
        self._tasks: dict[bytes, Task] = {}
        self._agents: dict[str, AgentConfiguration] = {}
        self._experiments: dict[str | None, Experiment | None] = {}

    def forget(self) -> None:
        """Look everything up anew: a transaction was rolled back, or another took rows away."""
        self._tasks.clear()
        self._agents.clear()
        self._experiments.clear()

    def task(self, record: TaskRecord) -> Task:
        """Its row; made if it is new."""
        key = canonical_json(record)
        if key not in self._tasks:
            self._tasks[key] = store_task(record)
        return self._tasks[key]

    def agent(self, run: RunRecord) -> AgentConfiguration:
        """The row of its agent. Which models answered is no part of what one of ours is made of:
        another agent may have taken over for some steps.
        """
        models = () if run.source.format == SOURCE_FORMAT else run.models
        key = agent_hash(run.agent, models)
        if key not in self._agents:
            self._agents[key] = store_agent(run.agent, models)
        return self._agents[key]

    def experiment(self, name: str | None) -> Experiment | None:
        """The experiment of this name, made if there is none; None without a name."""
        if name not in self._experiments:
            self._experiments[name] = experiment_named(name, self.user)
        return self._experiments[name]


def experiment_named(name: str | None, user: User | None) -> Experiment | None:
    """The experiment of this name, made if there is none; None without a name."""
    if not name:
        return None
    return Experiment.objects.get_or_create(name=name[:200], defaults={"created_by": user})[0]
