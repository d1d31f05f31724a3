"""What an experiment is to run: tasks, agents, trials and seeds."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from runs.catalogue.agents import NotRunnableError, live_agent
from runs.interface.sentences import labelled, worded
from runs.knowledge.hints.of_runs import without_hints
from runs.knowledge.web.sets import UnknownKnowledgeError, with_knowledge
from runs.launching.agents import (
    REPLAYER,
    agent_choices,
    agent_in_words,
    for_task_set,
    model_agents,
    own_step_limit,
)
from runs.launching.experiments.selection import PlanError
from runs.models import AgentConfiguration, RetryPolicy, Run, Task, User
from runs.models.visibility import visibility_of
from webagent.agents.agent import Advisable
from webagent.agents.registry import BadAgentConfig, UnknownAgent, make_agent
from webagent.agents.running import MAX_SEED
from webagent.recovery.retry_policy import AgentChoice
from webagent.trajectory.records import AgentRecord, Json

MAX_RUNS = 10_000
MAX_TRIALS = 100
RANDOM = "random"
SAME_PLAN = uuid.UUID("5b0c7b0e-6f0b-4d53-9a39-3a8b9a2f4c11")
"""Under it, a name and a plan become a token: the same command launches once."""

_RANGE = re.compile(r"(\d+)-(\d+)")
_COUNTED = re.compile(r"(\d+)\+")


@dataclass(frozen=True, slots=True)
class Seeds:
    """Which seed each trial has. All agents get the same, so that they can be compared."""

    given: tuple[int, ...] = ()
    """One for each trial; empty where they are counted or drawn."""
    first: int | None = None
    """Counted up from here."""

    def of(self, token: UUID, task: Task, trial: int) -> int:
        """The seed of a trial (from 1) at a task; drawn ones follow from the token."""
        if self.given:
            return self.given[trial - 1]
        if self.first is not None:
            return self.first + trial - 1
        name = f"seed of {task.task_set} {task.external_id} {trial}"
        return uuid.uuid5(token, name).int % MAX_SEED

    def __str__(self) -> str:
        if self.given:
            return ",".join(map(str, self.given))
        return RANDOM if self.first is None else f"{self.first}+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every agent tries every task as often as there are trials.

    `tasks` may hold rows that are not stored yet, of suites that are installed.
    """

    name: str
    tasks: tuple[Task, ...]
    agents: tuple[AgentRecord, ...]
    trials: int = 1
    seeds: Seeds = Seeds()
    max_steps: int | None = None
    """For all runs; without one, as the task or the agent says."""
    has_limits: bool = False
    """Each agent's configuration names the step limit of its runs: limits are arms."""
    policy: RetryPolicy | None = None
    parallelism: int | None = None
    in_background: bool = False
    waits_for_sites: bool = False

    @property
    def n_runs(self) -> int:
        return len(self.tasks) * len(self.agents) * self.trials

    def step_limit(self, task: Task, agent: AgentConfiguration | AgentRecord) -> int:
        """How many steps a run of the task by this agent may take, if the policy allows as many."""
        of_task = None if self.has_limits else task.max_steps
        return self.max_steps or of_task or own_step_limit(agent)

    def to_json(self) -> Json:
        """What is stored with the experiment, and what makes two plans the same."""
        said: Json = {
            "task_sets": [*sorted({str(task.task_set) for task in self.tasks})],
            "tasks": [task.external_id for task in self.tasks],
            "agents": [agent.model_dump(mode="json", exclude_none=True) for agent in self.agents],
            "trials": self.trials,
            "seeds": str(self.seeds),
            "max_steps": self.max_steps,
            "policy": str(self.policy) if self.policy else None,
            "parallelism": self.parallelism,
            "in_background": self.in_background,
        }
        # Named only where it is so: the plans of before keep their token.
        return said | {"has_limits": True} if self.has_limits else said

    @property
    def token(self) -> UUID:
        """The same for the same name and plan."""
        return uuid.uuid5(SAME_PLAN, json.dumps([self.name, self.to_json()], sort_keys=True))


def demand_size(plan: Plan) -> None:
    """Raises PlanError if the plan is empty or too large."""
    for gap in gaps(plan.tasks, plan.agents):
        raise gap
    if plan.n_runs > MAX_RUNS:
        raise PlanError(
            _("At most %(max)d runs at once; these are %(n)d.")
            % {"n": plan.n_runs, "max": MAX_RUNS}
        )


def gaps(tasks: Sequence[Task] | None, agents: Sequence[AgentRecord] | None) -> Iterator[PlanError]:
    """Why there is nothing to run, or an agent would run twice; None is not known yet."""
    if tasks is not None and not tasks:
        yield PlanError(_("No task matches. Choose other sites, kinds or tasks."), "tasks")
    if agents is not None and not agents:
        yield PlanError(_("Choose an agent."), "agents")
    if agents and len({agent.model_dump_json() for agent in agents}) < len(agents):
        yield PlanError(_("An agent is chosen twice with the same configuration."), "agents")


def read_seeds(words: str, trials: int | None) -> Seeds:
    """Seeds from words: `0-2` or `4,8,15` one for each trial, `7+` counted, `random` or nothing.

    Of how many trials is not asked where nobody knows.

    Raises:
        PlanError: that is something else, or not one for each trial.
    """
    words = words.replace(" ", "").lower()
    if words in ("", RANDOM):
        return Seeds()
    if counted := _COUNTED.fullmatch(words):
        seeds = Seeds(first=int(counted[1]))
        highest = int(counted[1]) + (trials or 0)
    else:
        seeds = Seeds(given=tuple(_listed(words)))
        highest = max(seeds.given)
        if trials is not None and len(seeds.given) != trials:
            raise PlanError(
                _("%(words)s are %(n)d seeds for %(trials)d trials.")
                % {"words": words, "n": len(seeds.given), "trials": trials}
            )
    if highest >= MAX_SEED:
        raise PlanError(_("Must be at most %(limit)s.") % {"limit": MAX_SEED - 1})
    return seeds


def seed_list(words: str) -> Seeds:
    """As many trials as there are seeds in the words: `0-49` or `4,8,15`.

    Raises:
        PlanError: that is something else, or too large.
    """
    seeds = tuple(_listed(words.replace(" ", "")))
    if len(set(seeds)) < len(seeds) or len(seeds) > MAX_TRIALS:
        raise PlanError(_("Enter at most %(most)d values, each once.") % {"most": MAX_TRIALS})
    return read_seeds(",".join(map(str, seeds)), len(seeds))


def _listed(words: str) -> Iterator[int]:
    for part in words.split(","):
        if part.isdecimal():
            yield int(part)
        elif (span := _RANGE.fullmatch(part)) and 0 <= int(span[2]) - int(span[1]) < MAX_TRIALS:
            yield from range(int(span[1]), int(span[2]) + 1)
        else:
            raise PlanError(
                _("Invalid seeds: %(words)s. Write 0-2 or 4,8,15 or 7+ or random.")
                % {"words": words}
            )


MOST_STORED = 100
STORED, MODEL = "stored:", "model:"


def experiment_agent_choices(user: User) -> list[tuple[str, str]]:
    """Agents for a form: by model, by kind, and by the number of a stored configuration."""
    kinds = [(name, words) for name, words in agent_choices() if name != REPLAYER]
    plain = {read_agent(name).model_dump_json() for name, _words in kinds}
    stored = {
        value: AgentChoice(name=row.name, config=row.config)
        for value, row in _stored_rows(user).items()
        if (record := _runnable(row)) and record.model_dump_json() not in plain
    }
    return [*_in_words(_by_model()), *kinds, *_in_words(stored)]


def hint_agent_choices(user: User) -> list[tuple[str, str]]:
    """Those of them that can be given hints and have none: by model, and stored configurations."""
    stored = {
        value: AgentChoice(name=row.name, config=row.config)
        for value, row in _stored_rows(user).items()
        if not row.config.get("tips")
    }
    agents = _by_model() | stored
    return _in_words({value: agent for value, agent in agents.items() if _takes_hints(agent)})


def _in_words(agents: Mapping[str, AgentChoice]) -> list[tuple[str, str]]:
    return [(value, agent_in_words(agent)) for value, agent in agents.items()]


def _by_model() -> dict[str, AgentChoice]:
    return {f"{MODEL}{name}": agent for name, agent in model_agents().items()}


def chosen_agents(
    values: list[str], more: str, task_set: str, user: User
) -> tuple[AgentRecord, ...]:
    """The agents of a form: its choices, and further ones written one to a line.

    Those chosen by model alone get the actions that go with the task set.

    Raises:
        PlanError: one of them cannot run here; the message names it.
    """
    rows, models = _stored_rows(user), _by_model()
    asking = [for_task_set(models[value], task_set) for value in values if value in models]
    named = [value for value in values if value not in rows and value not in models]
    found = [record for value in values if value in rows if (record := _runnable(rows[value]))]
    lines = [line for line in more.splitlines() if line.strip()]
    made = [_made(agent.name, agent.config) for agent in asking]
    return (*made, *map(read_agent, named), *found, *map(read_agent, lines))


def read_agent(words: str) -> AgentRecord:
    """The agent of `KIND` or `KIND:JSON`.

    Raises:
        PlanError: there is no such agent, or the configuration does not fit it.
    """
    name, _colon, text = words.strip().partition(":")
    try:
        config = json.loads(text) if text.strip() else {}
    except ValueError as error:
        why = _("Invalid JSON: %(why)s.") % {"why": error}
        raise PlanError(labelled(words, why)) from None
    if not isinstance(config, dict):
        raise PlanError(labelled(words, _("not a JSON object")))
    return _made(name.strip(), config)


def _made(name: str, config: Json) -> AgentRecord:
    try:
        return make_agent(name, with_knowledge(config)).describe()
    except (UnknownAgent, BadAgentConfig, UnknownKnowledgeError) as error:
        raise PlanError(worded(str(error))) from None


def _stored_rows(user: User) -> dict[str, AgentConfiguration]:
    """Configurations of runs that do not hide their agent from the person, newest first."""
    open_runs = Run.objects.visible_with(visibility_of(user)).not_anonymous().order_by()
    acted = open_runs.filter(agent=OuterRef("pk"))
    rows = AgentConfiguration.objects.filter(without_hints(), Exists(acted))
    newest = rows.order_by("-created_at", "-pk")[:MOST_STORED]
    return {f"{STORED}{row.pk}": row for row in newest}


def _runnable(row: AgentConfiguration) -> AgentRecord | None:
    if row.name == REPLAYER:
        return None
    try:
        return live_agent(row).describe()
    except NotRunnableError:
        return None


def _takes_hints(agent: AgentChoice) -> bool:
    try:
        return isinstance(live_agent(agent), Advisable)
    except NotRunnableError:
        return False
