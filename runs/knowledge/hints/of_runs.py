"""Hints of a run: the one it is given, and those written from it, as its file carries them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _
from pydantic import ValidationError

from runs.catalogue.agents import NotRunnableError, live_agent
from runs.knowledge.hints.writing import HintParams
from runs.models import Hint, HintChoice, HintSource, LearningJob, Run
from runs.models.experiments import HINTS_KEY
from runs.storage.links import as_uuid
from runs.storage.records import MAX_INT, aware, cost_column
from webagent.agents.agent import Advisable, Agent
from webagent.knowledge.hints import HintWords
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.intake import Problem
from webagent.trajectory.records import Json
from webagent.trajectory.verdict_records import HintJobRecord, HintRecord


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


LONGEST_TEXT = 20_000
LONGEST_SECONDS = 10**9
MAX_ASKS = 2**15 - 1
IMPORTED = "imported"
"""Key in the parameters of a job that was not done here."""


def hint_records(run_ids: Iterable[UUID]) -> Mapping[UUID, list[HintRecord]]:
    """The hints that were written from these runs, by run, in an order of their own making."""
    ids = list(run_ids)
    # Asked whether there is a hint or not, so that no count of queries tells.
    sources = HintSource.objects.filter(hint__source__in=ids).order_by("pk")
    further: dict[int, list[str]] = {}
    for hint, run in sources.values_list("hint", "run"):
        further.setdefault(hint, []).append(str(run))
    found: dict[UUID, list[HintRecord]] = {}
    for row in Hint.objects.filter(source__in=ids).select_related("job").order_by("job", "level"):
        found.setdefault(row.source_id, []).append(_record(row, further.get(row.pk, [])))
    return found


def store_hints(run: Run, bundle: RunBundle) -> list[Problem]:
    """Store what was written from the run; twice is as good as once. Inside a transaction."""
    problems = []
    for record in bundle.hints:
        if reason := _store(run, record):
            problems.append(Problem(bundle.source, f"hint {record.id}", "", reason))
    return problems


def _record(hint: Hint, further: Sequence[str]) -> HintRecord:
    job, params = hint.job, hint.job.params
    own = HintParams.model_validate(params).wording
    return HintRecord(
        id=f"{job.pk}/{hint.source_id}/{hint.level}",
        run_id=str(hint.source_id),
        level=hint.level,
        text=hint.text,
        job=HintJobRecord(
            id=str(job.pk),
            model=job.model,
            verdict=params.get("verdict", ""),
            verdict_name=params.get("verdict_name", ""),
            verdict_rule=params.get("verdict_rule", ""),
            wording=None if own is None else {"name": own.name, **own.parts},
        ),
        further_runs=tuple(further),
        model=hint.model,
        prompt_version=hint.prompt_version,
        prompt_hash=hint.prompt_hash,
        asks=hint.asks,
        faults=hint.faults,
        input_tokens=hint.input_tokens,
        output_tokens=hint.output_tokens,
        cost=hint.cost,
        seconds=hint.seconds,
        at=hint.created_at,
    )


def _store(run: Run, record: HintRecord) -> str:
    """Store one hint; why it cannot be, or nothing."""
    job_id = as_uuid(record.job.id)
    if job_id is None:
        return "its job has no id of ours"
    there = Hint.objects.filter(job=job_id, source=run, level=record.level).first()
    if there is not None:
        return "" if there.text == record.text else "another one is here in its place, which stays"
    if reason := _unfit(record):
        return reason
    job, _ = LearningJob.objects.get_or_create(pk=job_id, defaults=_job_columns(record.job))
    if IMPORTED not in job.params:
        return "its job was done here, and wrote no such hint"
    hint = Hint.objects.create(job=job, source=run, **_columns(record))
    # Those of them that are here; the others came to nobody's notice here.
    ids = [each for each in map(as_uuid, record.further_runs) if each and each != run.pk]
    known = Run.objects.filter(pk__in=ids, task=run.task_id).values_list("pk", flat=True)
    HintSource.objects.bulk_create(HintSource(hint=hint, run_id=pk) for pk in known)
    _count(job, run, record)
    return ""


def _unfit(record: HintRecord) -> str:
    """Why it does not fit its columns; empty if it does."""
    if len(record.text) > LONGEST_TEXT:
        return f"longer than {LONGEST_TEXT} characters"
    if max(record.input_tokens, record.output_tokens) > MAX_INT or record.asks > MAX_ASKS:
        return "its numbers are too large"
    return "" if record.seconds < LONGEST_SECONDS else "its time is too long"


def _job_columns(record: HintJobRecord) -> dict[str, Any]:
    said = plain_json(record)
    try:
        own = HintWords.model_validate(record.wording).model_dump(mode="json")
    except ValidationError:
        own = None
    return {
        "kind": LearningJob.Kind.HINTS,
        "model": said["model"][:200],
        "state": LearningJob.State.FINISHED,
        "params": {
            "runs": [],
            "levels": [],
            "verdict": said["verdict"][:200],
            "verdict_name": said["verdict_name"][:200],
            "verdict_rule": said["verdict_rule"][:2000],
            **({} if own is None else {"wording": own}),
            IMPORTED: True,
        },
    }


def _columns(record: HintRecord) -> dict[str, Any]:
    said = plain_json(record)
    return {
        "level": record.level,
        "text": said["text"],
        "model": said["model"][:200],
        "prompt_version": said["prompt_version"][:20],
        "prompt_hash": said["prompt_hash"],
        "asks": record.asks,
        "faults": said["faults"],
        "input_tokens": record.input_tokens,
        "output_tokens": record.output_tokens,
        "cost": cost_column(record.cost),
        "seconds": record.seconds,
        **({} if record.at is None else {"created_at": aware(record.at)}),
    }


def _count(job: LearningJob, run: Run, record: HintRecord) -> None:
    """Have the job name the run, by which it is hidden, and count the hint."""
    row = LearningJob.objects.select_for_update().get(pk=job.pk)
    for name, value in (("runs", str(run.pk)), ("levels", record.level)):
        if value not in row.params[name]:
            row.params[name].append(value)
    n = row.hints.count()
    LearningJob.objects.filter(pk=job.pk).update(
        params=row.params, n_total=n, n_done=n, report={"hints": n, "refused": 0}
    )
