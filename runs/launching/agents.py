"""Which agents can be launched here and on which runs, in words and to choose from in forms."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from runs.catalogue.agents import (
    NotRunnableError,
    agent_named,
    live_agent,
    setting_in_words,
    shown_settings,
    store_agent,
    value_in_words,
)
from runs.catalogue.language_models import ModelUnavailableError, offered_models
from runs.interface.sentences import labelled, listed, worded
from runs.models import AgentConfiguration, Run, Step, Task, User
from runs.models.runs.run import hides_something
from runs.models.visibility import run_policy
from webagent.agents.agent import Agent
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.registry import agent_kinds
from webagent.agents.running import SOURCE_FORMAT
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.agents.settings import BENCHMARK_ACTIONS
from webagent.environment.interface import UnknownTask
from webagent.environment.registry import task_record
from webagent.recovery.retry_policy import AgentChoice, PolicyBody
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.records import AgentRecord

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
SAME_AGENT = pgettext_lazy("rerun with", "the same agent")
DEFAULT_MAX_STEPS = 15
OUR_FORMAT = SOURCE_FORMAT
"""`source_format` of runs that were made here."""
REPLAYER = "replayer"
MOST_STORED = 100


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be offered for some runs.

    `same_words` names the agents as they were, None if none of them can run here. `problems`
    say what cannot be done and why, each once.
    """

    same_words: str | None
    problems: list[str]
    can_run: bool


def task_name(task: Task) -> str:
    """The name by which environments know the task: `miniwob.click-test`."""
    if "." in task.external_id:
        return task.external_id
    return f"{task.task_set.name}.{task.external_id}"


def own_step_limit(agent: AgentConfiguration | AgentRecord) -> int:
    """How many steps the configuration wants, or else as many as usual."""
    wanted = (agent.config or {}).get("max_steps")
    return wanted if isinstance(wanted, int) else DEFAULT_MAX_STEPS


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


def _agent_for(run: Run, agent: str | AgentChoice | None) -> Agent:
    if agent is None:
        return live_agent(run.agent)
    name, config = (agent, {}) if isinstance(agent, str) else (agent.name, agent.config)
    if name == REPLAYER and not config:  # without actions of its own it repeats those of the run
        steps = run.steps.filter(state=Step.State.LIVE).exclude(action="").order_by("index")
        config = {"actions": list(steps.values_list("action", flat=True))}
    return agent_named(name, config)


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


def policy_problem(body: PolicyBody) -> str | None:
    """Why the agent that takes over in a recovery cannot run here; None if it can."""
    try:
        if body.other_agent is not None:
            live_agent(body.other_agent)
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


def agent_in_words(agent: AgentChoice | None) -> str:
    """Its name and what was set otherwise than by default; “the same agent” for None."""
    if agent is None:
        return str(SAME_AGENT)
    settings = shown_settings(agent.name, agent.config)
    model = settings.pop("model", None)
    name = f"{agent.name} · {value_in_words(model)}" if model else agent.name
    said = [setting_in_words(key, value) for key, value in sorted(settings.items())]
    return f"{name} ({', '.join(said)})" if said else name


def for_task_set(agent: AgentChoice, task_set: str) -> AgentChoice:
    """The agent with the actions of a known benchmark, if the set `NAME VERSION` is of one."""
    name = task_set.partition(" ")[0]
    if agent.name != GENERIC or name not in BENCHMARK_ACTIONS:
        return agent
    return agent.model_copy(update={"config": {**agent.config, "benchmark": name}})


def model_agents() -> dict[str, AgentChoice]:
    """By the model's name, behind the agent's own if it is not the generic one.

    None where no model can be asked. All settings are the usual ones.
    """
    try:
        models = [model.name for model in offered_models() if not model.missing]
    except ModelUnavailableError:
        return {}
    prefixes = {GENERIC: "", SCREEN: f"{SCREEN}:"}
    return {
        f"{prefix}{model}": AgentChoice(name=agent, config={"model": model})
        for agent, prefix in prefixes.items()
        for model in models
    }


def agent_choices() -> list[tuple[str, str]]:
    """The agents that can be chosen for a run: name and what it does.

    Those that need a configuration are left out, but for the one that gets its own here.
    """
    return [
        (kind.name, str(AGENT_WORDS.get(kind.name, f"{kind.name}: {kind.summary}")))
        for kind in agent_kinds()
        if not kind.needs_config or kind.name == REPLAYER
    ]


class OfferedAgents:
    """What a person can choose, by the value that a form sends.

    Stored configurations are those that have run here, or wait to, and can still be made; those
    that only runs have whose agent is hidden from the person are left out.

    Args:
        beside: offered too, even if they cannot run here: what a policy names already.
    """

    def __init__(self, user: User, beside: Iterable[AgentChoice] = ()) -> None:
        self._words: dict[str, str] = {}
        self._agents: dict[str, AgentChoice] = {}
        self._offer(model_agents().values())
        kinds = {name: str(words) for name, words in agent_choices()}
        self._words |= kinds
        self._agents |= {name: AgentChoice(name=name) for name in kinds}
        self._offer((*_stored_for(user), *beside))

    @property
    def choices(self) -> list[tuple[str, str]]:
        return list(self._words.items())

    def get(self, value: str) -> AgentChoice | None:
        """The agent behind a value; None for the empty one, which is “as before”.

        Raises:
            KeyError: it is not offered.
        """
        return self._agents[value] if value else None

    def value_of(self, agent: AgentChoice | None) -> str:
        """The value of an agent that is offered; empty for None."""
        return next((value for value, known in self._agents.items() if known == agent), "")

    def _offer(self, agents: Iterable[AgentChoice]) -> None:
        for agent in agents:
            if agent not in self._agents.values():
                self._agents[_value(agent)] = agent
                self._words[_value(agent)] = agent_in_words(agent)


def _value(agent: AgentChoice) -> str:
    if not agent.config:
        return agent.name
    return f"{agent.name}-{json_digest(agent.model_dump(mode='json'))[:16]}"


def _stored_for(user: User) -> Iterator[AgentChoice]:
    plain = {kind.name: kind for kind in agent_kinds() if not kind.needs_config}
    rows = AgentConfiguration.objects.filter(name__in=[kind.name for kind in agent_kinds()])
    if (hidden := run_policy().anonymous(user)) is not None:
        shown = Run.objects.filter(agent=OuterRef("pk")).exclude(hidden)
        rows = rows.filter(Exists(shown))
    for row in rows.order_by("-pk")[:MOST_STORED]:
        agent = AgentChoice(name=row.name, config=row.config)
        try:
            made = live_agent(agent)
        except NotRunnableError:
            continue
        kind = plain.get(row.name)
        # A kind as it is without a configuration is offered by its name.
        if kind is None or kind.make().describe() != made.describe():
            yield agent
