"""Which agents an experiment can have: models, kinds without configuration, those that ran."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from runs.catalogue.agents.choices import agent_in_words
from runs.catalogue.agents.language_models import for_task_set, model_agents
from runs.catalogue.agents.runnable import REPLAYER, NotRunnableError, agent_choices, live_agent
from runs.catalogue.tasks.offered import PlanError
from runs.knowledge.hints.lookup import without_hints
from runs.knowledge.web.sets import UnknownKnowledgeError, with_knowledge
from runs.models import AgentConfiguration, Run, User
from runs.models.visibility import visibility_of
from webagent.agents.agent import Advisable
from webagent.agents.registry import BadAgentConfig, UnknownAgent, make_agent
from webagent.recovery.retry_policy import AgentChoice
from webagent.trajectory.records import AgentRecord, Json

MOST_STORED = 100
STORED, MODEL = "stored:", "model:"


def experiment_agent_choices(user: User) -> list[tuple[str, str]]:
    """Agents for a form: by model, by kind, and by the number of a stored configuration."""
    models = [
        (
            f"{MODEL}{name}",
            _("%(agent)s: the language model decides") % {"agent": agent_in_words(agent)},
        )
        for name, agent in model_agents().items()
    ]
    kinds = [(name, words) for name, words in agent_choices() if name != REPLAYER]
    plain = {_key(read_agent(name)) for name, _words in kinds}
    stored = [
        (f"{STORED}{row.pk}", _words_of(row))
        for row in _stored_rows(user)
        if (record := _runnable(row)) and _key(record) not in plain
    ]
    return [*models, *kinds, *stored]


def hint_agent_choices(user: User) -> list[tuple[str, str]]:
    """Stored configurations that can be given hints and have none."""
    return [
        (f"{STORED}{row.pk}", _words_of(row))
        for row in _stored_rows(user)
        if not row.config.get("tips") and _takes_hints(row)
    ]


def chosen_agents(
    values: list[str], more: str, task_set: str, user: User
) -> tuple[AgentRecord, ...]:
    """The agents of a form: its choices, and further ones written one to a line.

    Those chosen by model alone get the actions that go with the task set.

    Raises:
        PlanError: one of them cannot run here; the message names it.
    """
    rows = {f"{STORED}{row.pk}": row for row in _stored_rows(user)}
    models = {f"{MODEL}{name}": agent for name, agent in model_agents().items()}
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
        raise PlanError(
            _("%(words)s: invalid JSON (%(why)s).") % {"words": words, "why": error}
        ) from None
    if not isinstance(config, dict):
        raise PlanError(_("%(words)s: a configuration is a JSON object.") % {"words": words})
    return _made(name.strip(), config)


def _made(name: str, config: Json) -> AgentRecord:
    try:
        return make_agent(name, with_knowledge(config)).describe()
    except (UnknownAgent, BadAgentConfig, UnknownKnowledgeError) as error:
        raise PlanError(str(error)) from None


def _stored_rows(user: User) -> Iterator[AgentConfiguration]:
    """Configurations of runs that do not hide their agent from the person, newest first."""
    open_runs = Run.objects.visible_with(visibility_of(user)).not_anonymous().order_by()
    acted = open_runs.filter(agent=OuterRef("pk"))
    rows = AgentConfiguration.objects.filter(without_hints(), Exists(acted))
    yield from rows.order_by("-created_at", "-pk")[:MOST_STORED]


def _runnable(row: AgentConfiguration) -> AgentRecord | None:
    if row.name == REPLAYER:
        return None
    try:
        return live_agent(row).describe()
    except NotRunnableError:
        return None


def _takes_hints(row: AgentConfiguration) -> bool:
    try:
        return isinstance(live_agent(row), Advisable)
    except NotRunnableError:
        return False


def _key(record: AgentRecord) -> str:
    return record.model_dump_json()


def _words_of(row: AgentConfiguration) -> str:
    return agent_in_words(AgentChoice(name=row.name, config=row.config))
