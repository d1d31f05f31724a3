"""Hints written by learning jobs, each from successful runs of one task."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import BaseModel, JsonValue

from runs.knowledge.learning import Learned, Learning, learns, start_learning
from runs.models import Hint, HintSource, LearningItem, LearningJob, Run, Step, Task, User
from runs.models.tasks import task_key
from runs.queue.paid_work import WorkRefusedError
from webagent.environment.placeholders import resolve_text
from webagent.knowledge.entries import Level, RunLog, log_of
from webagent.knowledge.hints import HintWords, load_wording, write_hint
from webagent.knowledge.leaks import SourceRun
from webagent.knowledge.relevance import DescribedTask
from webagent.llm.interface import LanguageModel
from webagent.llm.untrusted import MOST_OBJECTIONS, BadReply


class HintParams(BaseModel):
    """What a job is about. `verdict` names who said that the runs succeeded, and in which words.

    Jobs of older versions and of elsewhere may lack any of it.
    """

    runs: list[UUID] = []
    levels: list[Level] = []
    verdict: str = ""
    verdict_name: str = ""
    verdict_rule: str = ""
    further: dict[UUID, list[UUID]] = {}
    """Further runs of the same task that the hints of a run are written from."""
    wording: HintWords | None = None
    """Other words than ours to ask with."""


def runs_of_job(job: LearningJob) -> set[UUID]:
    """Every run that the job's hints come from, and by which it is hidden."""
    params = job.params
    more = params.get("further") or {}
    return {UUID(run) for run in (*params.get("runs", ()), *(r for m in more.values() for r in m))}


class HintWriting(Learning):
    """Each of the job's runs becomes one hint for each level."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        """A key for each run and level, in the order of the runs."""
        params = HintParams.model_validate(job.params)
        keys = [f"{run} {level}" for run in params.runs for level in params.levels]
        if not keys:
            raise WorkRefusedError(gettext_noop("None of these runs has ended and has steps."))
        return list(dict.fromkeys(keys))

    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        run_id, level = key.split()
        params = HintParams.model_validate(job.params)
        wanted = [UUID(run_id), *params.further.get(UUID(run_id), ())]
        ended = Run.objects.ended()
        found = ended.select_related("task__task_set").in_bulk(wanted)
        if len(found) < len(wanted):
            return Learned(problem=gettext_noop("deleted"))
        runs = [found[each] for each in wanted]
        if not all(run.n_steps for run in runs):
            return Learned(problem=gettext_noop("the run has no steps"))
        wording = load_wording(params.wording)
        source = source_run(*runs)
        try:
            written = write_hint(model, job.model, source, Level(level), wording)
        except BadReply as bad:
            why = "; ".join(bad.problems[:MOST_OBJECTIONS])
            return Learned(problem=f"Refused {bad.asks} times, the last time because {why}")
        return Learned(
            result={
                "text": written.text,
                "model": written.model,
                "prompts": wording.version,
                "prompt_hash": wording.sha256,
                "asks": written.asks,
                "faults": [list(each) for each in written.faults],
                "input_tokens": written.input_tokens,
                "output_tokens": written.output_tokens,
                "cost": None if written.cost is None else str(written.cost),
                "seconds": written.seconds,
            }
        )

    def keep(self, job: LearningJob, items: Sequence[LearningItem]) -> None:
        """The hints as rows, so that those of a job that stops are there all the same."""
        made = Hint.objects.bulk_create([_hint(job, item) for item in items])
        further = HintParams.model_validate(job.params).further
        HintSource.objects.bulk_create(
            HintSource(hint=hint, run_id=run)
            for hint in made
            for run in further.get(hint.source_id, ())
        )

    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        return {"hints": job.hints.count(), "refused": job.items.exclude(problem="").count()}


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
    return DescribedTask(key_of(task), frozenset(task.sites or [task.site]), _text_of(task))


def key_of(task: Task) -> str:
    """The same for all versions of a task, another one for every other task."""
    name = task.task_set.name
    return f"{name} {task_key(name, task.external_id)}"


def _text_of(task: Task) -> str:
    """What relatedness goes by: the goal, or the words of the id where only runs have goals."""
    if task.goal.strip():
        return task.goal
    name = task_key(task.task_set.name, task.external_id)
    return " ".join(name.replace("-", " ").replace("_", " ").split())


def _hint(job: LearningJob, item: LearningItem) -> Hint:
    run_id, level = item.key.split()
    said = item.result
    return Hint(
        job=job,
        source_id=UUID(run_id),
        level=level,
        text=said["text"],
        model=said["model"][:200],
        prompt_version=said["prompts"],
        prompt_hash=said["prompt_hash"],
        asks=said["asks"],
        faults=said["faults"],
        input_tokens=said["input_tokens"],
        output_tokens=said["output_tokens"],
        cost=None if said["cost"] is None else Decimal(said["cost"]),
        seconds=said["seconds"],
    )


learns(LearningJob.Kind.HINTS, HintWriting())


def start_hint_writing(
    *,
    model: str,
    run_ids: Sequence[UUID],
    levels: Sequence[Level],
    verdict: str,
    verdict_name: str,
    verdict_rule: str,
    further: Mapping[UUID, Sequence[UUID]] | None = None,
    wording: HintWords | None = None,
    max_cost: Decimal | None = None,
    estimate: Mapping[str, JsonValue] | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> LearningJob:
    """Queue the writing of a hint for each run and level.

    Args:
        verdict: who says that the runs succeeded, by its key; its name and rule are in words.
        further: by run, others of the same task that its hints are written from too.
        wording: other words than ours to ask with.
        estimate: what it is expected to take, as it was shown.

    Raises:
        WorkRefusedError: no run or level is named, or the model cannot be asked.
    """
    if not run_ids or not levels:
        raise WorkRefusedError(_("Choose at least one run that succeeded, and one level."))
    params = HintParams(
        runs=list(run_ids),
        levels=list(levels),
        verdict=verdict,
        verdict_name=verdict_name,
        verdict_rule=verdict_rule,
        further={run: list(more) for run, more in (further or {}).items() if more},
        wording=wording,
    )
    return start_learning(
        kind=LearningJob.Kind.HINTS,
        model=model,
        # Left out where unused: who asks for the same as before gets the same job.
        params=params.model_dump(mode="json", exclude_defaults=True)
        | {"verdict_rule": verdict_rule},
        max_cost=max_cost,
        estimate=estimate,
        user=user,
        is_told=is_told,
    )
