"""Hints written by learning jobs, and as runs carry them to another installation."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import BaseModel, JsonValue, ValidationError

from runs.knowledge.hints.lookup import source_run
from runs.knowledge.learning import Learned, Learning, learns, start_learning
from runs.models import Hint, HintSource, LearningItem, LearningJob, Run, User
from runs.queue.paid_work import WorkRefusedError
from runs.storage.links import as_uuid
from runs.storage.records import MAX_INT, aware, cost_column
from webagent.knowledge.entries import Level
from webagent.knowledge.extraction import MOST_PROBLEMS, BadReply
from webagent.knowledge.hints import HintWords, load_wording, write_hint
from webagent.llm.interface import LanguageModel
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.verdict_records import HintJobRecord, HintRecord


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
            why = "; ".join(bad.problems[:MOST_PROBLEMS])
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
