"""The hint that a run is given: found by its agent's configuration and its task."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext as _

from runs.catalogue.agents.runnable import NotRunnableError, live_agent
from runs.models import HintChoice, Run
from runs.models.agents import HINTS_KEY
from webagent.agents.agent import Advisable, Agent
from webagent.trajectory.records import Json


def hint_key(run: Run) -> str:
    """The hint set that the run's agent names; empty for none."""
    key = run.agent.config.get(HINTS_KEY)
    return key if isinstance(key, str) else ""


def choice_for(run: Run) -> HintChoice | None:
    """What the run is to be told; None where its agent names no hints.

    Raises:
        NotRunnableError: its hints have none for this task, or one that comes from the run itself
            or from one that repeats it.
    """
    key = hint_key(run)
    if not key:
        return None
    choices = HintChoice.objects.select_related("hint_set", "hint__source__task", "hint__job")
    choice = choices.filter(hint_set__key=key, task=run.task_id).first()
    if choice is None:
        raise NotRunnableError(
            _("The hints %(key)s have none for the task %(task)s.") % {"key": key, "task": run.task}
        )
    if choice.hint.source.root == run.root:
        raise NotRunnableError(
            _("The hint comes from the run that this one repeats, so it would tell its solution.")
        )
    return choice


def advised_agent(run: Run, choice: HintChoice | None) -> Agent:
    """A new agent for the run, with its hint.

    Raises:
        NotRunnableError: it cannot run here, or takes no hints.
    """
    agent = live_agent(run.agent)
    if choice is not None:
        if not isinstance(agent, Advisable):
            raise NotRunnableError(_("The agent %(name)s takes no hints.") % {"name": run.agent})
        agent.advise(choice.hint.text)
    return agent


def hint_record(choice: HintChoice) -> Json:
    """What the run's record says of its hint: the very text, and where it comes from."""
    hint, hint_set = choice.hint, choice.hint_set
    return {
        "set": hint_set.key,
        "level": hint_set.level,
        "relatedness": hint_set.relatedness,
        "source_run": str(hint.source_id),
        "source_task": hint.source.task.external_id,
        "score": choice.score,
        "tied": choice.n_tied,
        "method": hint_set.method,
        "model": hint.model,
        "prompts": f"{hint.prompt_version} ({hint.prompt_hash[:12]})",
        "text": hint.text,
    }


def without_hints() -> Q:
    """Agent configurations that can act on any task: those with hints know some tasks only."""
    return ~Q(config__has_key=HINTS_KEY)
