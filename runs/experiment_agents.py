"""Which agents an experiment can have: kinds that need no configuration, those that ran, others."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.utils.translation import gettext as _

from runs.agent_words import agent_in_words
from runs.experiment_plans import PlanError
from runs.hints import without_hints
from runs.knowledge_sets import UnknownKnowledgeError, with_knowledge
from runs.models import AgentConfiguration, Run, User
from runs.runnable import REPLAYER, NotRunnableError, agent_choices, live_agent
from webagent.agents.agent import Advisable
from webagent.agents.registry import BadAgentConfig, UnknownAgent, make_agent
from webagent.recovery.retry_policy import AgentChoice
from webagent.trajectory.records import AgentRecord

MOST_STORED = 100
STORED = "stored:"
SHOWN_CONFIG = 120


def experiment_agent_choices(user: User) -> list[tuple[str, str]]:
    """Agents for a form: by kind, and by the number of a stored configuration."""
    kinds = [(name, words) for name, words in agent_choices() if name != REPLAYER]
    plain = {_key(read_agent(name)) for name, _words in kinds}
    stored = [
        (f"{STORED}{row.pk}", _words_of(row))
        for row in _stored_rows(user)
        if (record := _runnable(row)) and _key(record) not in plain
    ]
    return [*kinds, *stored]


def hint_agent_choices(user: User) -> list[tuple[str, str]]:
    """Stored configurations that can be given hints and have none."""
    return [
        (f"{STORED}{row.pk}", agent_in_words(AgentChoice(name=row.name, config=row.config)))
        for row in _stored_rows(user)
        if not row.config.get("tips") and _takes_hints(row)
    ]


def chosen_agents(values: list[str], more: str, user: User) -> tuple[AgentRecord, ...]:
    """The agents of a form: its choices, and further ones written one to a line.

    Raises:
        PlanError: one of them cannot run here; the message names it.
    """
    rows = {f"{STORED}{row.pk}": row for row in _stored_rows(user)}
    named = [value for value in values if value not in rows]
    found = [record for value in values if value in rows if (record := _runnable(rows[value]))]
    lines = [line for line in more.splitlines() if line.strip()]
    return (*map(read_agent, named), *found, *map(read_agent, lines))


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
            _("%(words)s: that is no JSON (%(why)s).") % {"words": words, "why": error}
        ) from None
    if not isinstance(config, dict):
        raise PlanError(_("%(words)s: a configuration is a JSON object.") % {"words": words})
    try:
        return make_agent(name.strip(), with_knowledge(config)).describe()
    except (UnknownAgent, BadAgentConfig, UnknownKnowledgeError) as error:
        raise PlanError(str(error)) from None


def _stored_rows(user: User) -> Iterator[AgentConfiguration]:
    """Configurations of runs that do not hide their agent from the person, newest first."""
    open_runs = Run.objects.shown_to(user).not_anonymous().order_by()
    rows = AgentConfiguration.objects.filter(without_hints(), pk__in=open_runs.values("agent"))
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
    config = json.dumps(row.config, ensure_ascii=False) if row.config else ""
    if len(config) > SHOWN_CONFIG:
        config = f"{config[:SHOWN_CONFIG]} …"
    return f"{row} {config}".strip()
