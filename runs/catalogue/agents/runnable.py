"""What can run here: which agents there are, their rows, and whether a run's task is among them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.interface.sentences import labelled, listed, worded
from runs.models import AgentConfiguration, KnowledgeSet, Run, Step, Task
from runs.models.runs.run import hides_something
from webagent.agents.agent import Agent
from webagent.agents.registry import BadAgentConfig, UnknownAgent, agent_kinds, make_agent
from webagent.agents.running import SOURCE_FORMAT
from webagent.environment.interface import UnknownTask
from webagent.environment.registry import task_record
from webagent.recovery.retry_policy import AgentChoice, PolicyBody
from webagent.trajectory.canonical import json_digest, plain_json
from webagent.trajectory.records import AgentRecord, Json


def store_agent(agent: AgentRecord, models: tuple[str, ...] = ()) -> AgentConfiguration:
    """The row of this configuration; made if it is new. Equal content, equal row.

    Web knowledge that it has is frozen, so that the set that is named stays what agents had.
    """
    row, _created = AgentConfiguration.objects.get_or_create(
        config_hash=agent_hash(agent, models),
        defaults={
            "name": agent.name[:200],
            "version": (agent.version or "")[:100],
            "model": _model_name(agent, models)[:200],
            "model_names": list(models),
            "config": plain_json(agent).get("config", {}),
        },
    )
    if known := row.knowledge_hash:
        KnowledgeSet.objects.freeze(known)
    return row


def _model_name(agent: AgentRecord, models: tuple[str, ...]) -> str:
    """The model that pages tell the agent by: the first one that answered, or the one it names.

    Our own agents name theirs as the file of models does. It follows from what is hashed, and
    so is no part of the hash.
    """
    if models:
        return models[0]
    named = (agent.config or {}).get("model")
    return named if isinstance(named, str) else ""


def agent_hash(agent: AgentRecord, models: tuple[str, ...] = ()) -> str:
    """SHA-256 over name, version, configuration and models."""
    return json_digest({"agent": agent.model_dump(exclude_none=True), "models": list(models)})


AGENT_WORDS = {
    "oracle": gettext_lazy("oracle: solves the MiniWoB++ tasks that it knows by reading the page"),
    "resident": gettext_lazy("resident: serves the tasks of the Larkfield sites"),
    "visitor": gettext_lazy("visitor: goes by the words of the goal and by its hints"),
    "stuck": gettext_lazy("stuck: starts as instructed, then repeats itself"),
    "looping": gettext_lazy("looping: repeats one action that changes nothing"),
    "early_finisher": gettext_lazy("early finisher: declares the task done at once"),
    "wrong": gettext_lazy("wrong: clicks on something plausible but wrong"),
    "do_nothing": gettext_lazy("do nothing (control): only waits"),
    "always_na": gettext_lazy("always N/A (control): answers N/A to everything"),
    "list_everything": gettext_lazy("list everything (control): answers with all text of the page"),
    "screen-scripted": gettext_lazy(
        "screen-scripted: solves simple tasks by rules, from goal and screenshot alone"
    ),
    "replayer": gettext_lazy("replayer: repeats the actions of this run"),
}
"""The agents in the reader's language; others are described in their own words."""

DEFAULT_MAX_STEPS = 15
OUR_FORMAT = SOURCE_FORMAT
"""`source_format` of runs that were made here."""
REPLAYER = "replayer"


class NotRunnableError(Exception):
    """The run cannot be carried out here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be offered for some runs.

    `same_words` names the agents as they were, None if none of them can run here. `problems`
    say what cannot be done and why, each once.
    """

    same_words: str | None
    problems: list[str]
    can_run: bool


def agent_choices() -> list[tuple[str, str]]:
    """The agents that can be chosen for a run: name and what it does.

    Those that need a configuration are left out, but for the one that gets its own here.
    """
    return [
        (kind.name, str(AGENT_WORDS.get(kind.name, f"{kind.name}: {kind.summary}")))
        for kind in agent_kinds()
        if not kind.needs_config or kind.name == REPLAYER
    ]


def agent_for(run: Run, agent: str | AgentChoice | None) -> AgentConfiguration:
    """The row of the agent that is to run: the run's own, or the one of that name or choice.

    The replayer gets the run's own actions to repeat.

    Raises:
        NotRunnableError: there is no such agent here.
    """
    return store_agent(agent_record_for(run, agent))


def agent_record_for(run: Run, agent: str | AgentChoice | None) -> AgentRecord:
    """The same, without storing anything."""
    return _agent_for(run, agent).describe()


def live_agent(agent: AgentConfiguration | AgentChoice) -> Agent:
    """A new agent of this configuration, or as a policy names it, for one run.

    Raises:
        NotRunnableError: it cannot run here.
    """
    return _make(agent.name, agent.config)


def task_name(task: Task) -> str:
    """The name by which environments know the task: `miniwob.click-test`."""
    if "." in task.external_id:
        return task.external_id
    return f"{task.task_set.name}.{task.external_id}"


def own_step_limit(agent: AgentConfiguration | AgentRecord) -> int:
    """How many steps the configuration wants, or else as many as usual."""
    wanted = (agent.config or {}).get("max_steps")
    return wanted if isinstance(wanted, int) else DEFAULT_MAX_STEPS


def why_not_runnable(run: Run, agent: str | AgentChoice | None) -> str | None:
    """What stands against running this again with that agent, or its own; None if nothing.

    The run must come out of `visible_to`: whoever judges a run must not learn from a rerun who
    acted in it.
    """
    if hides_something(run):
        return _("You are judging this run. It can be rerun once it is settled.")
    return problem_of(run, agent)


def problem_of(run: Run, agent: str | AgentChoice | None) -> str | None:
    """The same for a run on which nobody is blind."""
    return environment_problem(run.task) or agent_problem(run, agent)


def environment_problem(task: Task) -> str | None:
    """Why the task cannot run here; None if it can."""
    try:
        task_record(task_name(task))
    except UnknownTask as error:
        return worded(str(error))
    return None


def agent_problem(run: Run, agent: str | AgentChoice | None) -> str | None:
    """Why the agent cannot run here; None if it can."""
    try:
        _agent_for(run, agent)
    except NotRunnableError as error:
        return str(error)
    return None


def rerun_offer(runs: Sequence[Run]) -> Offer:
    """What the form can offer for these runs, all out of `visible_to`."""
    tasks_can_run = [run for run in runs if why_not_runnable(run, "do_nothing") is None]
    same = [run for run in tasks_can_run if agent_problem(run, None) is None]
    problems = dict.fromkeys(
        why
        for run in runs
        if (why := why_not_runnable(run, None if run in tasks_can_run else "do_nothing"))
    )
    names = listed(sorted({run.agent.name for run in same}))
    words = labelled(_("as before"), names) if same else None
    return Offer(words, list(problems), bool(tasks_can_run))


def policy_problem(body: PolicyBody) -> str | None:
    """Why the agent that takes over in a recovery cannot run here; None if it can."""
    try:
        if body.other_agent is not None:
            live_agent(body.other_agent)
    except NotRunnableError as error:
        return str(error)
    return None


def _agent_for(run: Run, agent: str | AgentChoice | None) -> Agent:
    if agent is None:
        return live_agent(run.agent)
    name, config = (agent, {}) if isinstance(agent, str) else (agent.name, agent.config)
    if name == REPLAYER and not config:  # without actions of its own it repeats those of the run
        steps = run.steps.filter(state=Step.State.LIVE).exclude(action="").order_by("index")
        config = {"actions": list(steps.values_list("action", flat=True))}
    return _make(name, config)


def _make(name: str, config: Json) -> Agent:
    try:
        return make_agent(name, config)
    except UnknownAgent:
        raise NotRunnableError(
            _(
                "The agent %(name)s came with an import and cannot run here. "
                "Choose one of the agents that can."
            )
            % {"name": name}
        ) from None
    except BadAgentConfig as error:
        raise NotRunnableError(worded(str(error))) from None
