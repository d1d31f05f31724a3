"""Learning jobs that write hints: one item for each source run and level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import BaseModel, JsonValue

from runs.knowledge.hints.lookup import source_run
from runs.knowledge.learning import Learned, Learning, learns, start_learning
from runs.models import Hint, LearningItem, LearningJob, Run, RunStatus, User
from runs.queue.paid_work import WorkRefusedError
from webagent.knowledge.entries import Level
from webagent.knowledge.hints import HintRefused, load_wording, write_hint
from webagent.llm.interface import LanguageModel


class HintParams(BaseModel):
    """What a job is about. `verdict` names who said that the runs succeeded, and in which words."""

    runs: list[UUID]
    levels: list[Level]
    verdict: str
    verdict_name: str
    verdict_rule: str = ""


class HintWriting(Learning):
    """Each of the job's runs becomes one hint for each level."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        """A key for each run and level, in the order of the runs."""
        params = HintParams.model_validate(job.params)
        keys = [f"{run} {level}" for run in params.runs for level in params.levels]
        if not keys:
            raise WorkRefusedError("There is no run to write hints from.")
        return list(dict.fromkeys(keys))

    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        """One hint, or why there is none."""
        run_id, level = key.split()
        ended = Run.objects.filter(status__in=RunStatus.ended())
        run = ended.select_related("task__task_set").filter(pk=run_id).first()
        if run is None:
            return Learned(problem="The run is not there any more.")
        if not run.n_steps:
            return Learned(problem="The run has no steps.")
        wording = load_wording()
        try:
            written = write_hint(model, job.model, source_run(run), Level(level), wording=wording)
        except HintRefused as refused:
            return Learned(problem=f"Refused {refused.asks} times, the last time because {refused}")
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
        Hint.objects.bulk_create([_hint(job, item) for item in items])

    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        """How many there are."""
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
    max_cost: Decimal | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> LearningJob:
    """Queue the writing of a hint for each run and level.

    Args:
        verdict: who says that the runs succeeded, by its key; its name and rule are in words.

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
    )
    return start_learning(
        kind=LearningJob.Kind.HINTS,
        model=model,
        params=params.model_dump(mode="json"),
        max_cost=max_cost,
        user=user,
        is_told=is_told,
    )
