"""The hint that a run is given, and stored runs as sources of hints."""

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _

from runs.catalogue.agents.runnable import NotRunnableError, live_agent
from runs.models import HintChoice, Run, Step, Task
from runs.models.experiments import HINTS_KEY
from runs.models.tasks import task_key
from webagent.agents.agent import Advisable, Agent
from webagent.environment.placeholders import resolve_text
from webagent.knowledge.entries import RunLog, log_of
from webagent.knowledge.leaks import SourceRun
from webagent.knowledge.relevance import DescribedTask
from webagent.trajectory.records import Json


def choice_for(run: Run) -> HintChoice | None:
    """What the run is to be told; None where its agent names no hints.

    Raises:
        NotRunnableError: its hints have none for this task, or one that comes from the run itself
            or from one that repeats it.
    """
    key = run.agent.hint_key
    if not key:
        return None
    choices = HintChoice.objects.select_related("hint_set", "hint__source__task", "hint__job")
    choices = choices.prefetch_related("hint__further__run")
    choice = choices.filter(hint_set__key=key, task=run.task_id).first()
    if choice is None:
        raise NotRunnableError(
            _("The hints %(key)s have none for the task %(task)s.") % {"key": key, "task": run.task}
        )
    further = [each.run.root for each in choice.hint.further.all()]
    if run.root in (choice.hint.source.root, *further):
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
        "further_runs": [str(each.run_id) for each in hint.further.all()],
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


def source_run(run: Run, *further: Run) -> SourceRun:
    """The runs as those who write hints from them see them: steps that were taken back left out."""
    return SourceRun(_log(run), run.task.intent_template, tuple(map(_log, further)))


def _log(run: Run) -> RunLog:
    steps = run.steps.filter(state=Step.State.LIVE).order_by("index")
    records = [step.to_record() for step in steps]
    goal = resolve_text(run.goal or run.task.goal, settings.SITE_HOSTS)
    return log_of(str(run.pk), key_of(run.task), goal, records, site=run.task.site)


def described(task: Task) -> DescribedTask:
    """The task as sources are chosen by."""
    return DescribedTask(key_of(task), frozenset(task.sites or [task.site]), text_of(task))


def key_of(task: Task) -> str:
    """The same for all versions of a task, another one for every other task."""
    name = task.task_set.name
    return f"{name} {task_key(name, task.external_id)}"


def text_of(task: Task) -> str:
    """What relatedness goes by: the goal, or the words of the id where only runs have goals."""
    if task.goal.strip():
        return task.goal
    name = task_key(task.task_set.name, task.external_id)
    return " ".join(name.replace("-", " ").replace("_", " ").split())
