"""Pages of hints: the jobs that wrote them, and each hint with its source and its uses."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.requests import AppRequest, needs
from runs.interface.sentences import labelled
from runs.knowledge.hints.writing import HintParams, runs_of_job
from runs.knowledge.learning import cancelled, job_context, resumed
from runs.models import Experiment, Hint, HintChoice, HintLevel, LearningJob, Run, Task, User
from runs.models.runs.run import hides_something
from runs.queue.jobs import cost_in_words, progress_of
from webagent.knowledge.hints import HintWords, load_wording
from webagent.llm.budget import count_tokens

MOST_JOBS = 50
MOST_PROBLEMS = 100


def hint_jobs() -> QuerySet[LearningJob]:
    """Jobs that write hints, newest first, whoever may know of them."""
    return LearningJob.objects.filter(kind=LearningJob.Kind.HINTS).select_related("created_by")


def open_jobs(jobs: Sequence[LearningJob], user: User) -> list[LearningJob]:
    """Those of the jobs without a source that hides something from the person."""
    sources = {job.pk: runs_of_job(job) for job in jobs}
    all_sources = set[UUID]().union(*sources.values())
    runs = Run.objects.visible_to(user, all_sources).not_blind().not_anonymous().order_by()
    open_runs = runs.exclude(Task.objects.is_sealed(user, "task"))
    hidden = all_sources - set(open_runs.values_list("pk", flat=True))
    return [job for job in jobs if not hidden & sources[job.pk]]


def jobs_shown_to(user: User) -> list[LearningJob]:
    """The newest jobs that write hints, as far as nothing of them is hidden."""
    return open_jobs(list(hint_jobs()[:MOST_JOBS]), user)


def jobs_with_hints(user: User) -> list[LearningJob]:
    """Those of them that have written something."""
    jobs = jobs_shown_to(user)
    written = set(Hint.objects.filter(job__in=jobs).values_list("job", flat=True).distinct())
    return [job for job in jobs if job.pk in written]


def job_rows(jobs: Sequence[LearningJob]) -> list[dict[str, Any]]:
    """The jobs with how many hints of which level each has written."""
    counted = Hint.objects.filter(job__in=jobs).order_by().values_list("job", "level")
    counts = Counter({(job, level): n for job, level, n in counted.annotate(n=Count("pk"))})
    return [
        {
            "job": job,
            "progress": progress_of(job),
            "cost": cost_in_words(job) if job.spent or job.n_unpriced else "—",
            "by_level": [
                labelled(level.label, intcomma(counts[job.pk, level.value]))
                for level in HintLevel
                if counts[job.pk, level.value]
            ],
        }
        for job in jobs
    ]


def hint_job_context(job: LearningJob, user: User) -> dict[str, Any]:
    """Everything that came of a job, in a fixed number of queries."""
    hints = Hint.objects.visible_to(user).for_list().filter(job=job)
    params = HintParams.model_validate(job.params)
    by_run: dict[UUID, list[Hint]] = {}
    order = HintLevel.values
    for hint in sorted(hints, key=lambda each: order.index(each.level)):
        by_run.setdefault(hint.source_id, []).append(hint)
    tasks = {run: found[0].source.task for run, found in by_run.items()}
    in_order = sorted(tasks, key=lambda run: (str(tasks[run].task_set), tasks[run].external_id))
    problems = job.items.exclude(problem="").order_by("position")[:MOST_PROBLEMS]
    return job_context(job) | {
        "sources": [
            {
                "run": by_run[run][0].source,
                "hints": by_run[run],
                "n_further": len(params.further.get(run, ())),
            }
            for run in in_order
        ],
        "wording": load_wording(params.wording),
        "own_parts": _own_parts(params.wording),
        "problems": problems,
        # Not while they still come in.
        "sizes": [] if job.is_active else _sizes(hints),
    }


def _own_parts(own: HintWords | None) -> list[tuple[str, str]]:
    """The parts of the prompts that are not the project's own, by their names in words."""
    if own is None:
        return []
    names = {"system": gettext("introduction"), **{str(k): str(v) for k, v in HintLevel.choices}}
    return [(names[name], text) for name, text in own.parts.items()]


def _sizes(hints: Iterable[Hint]) -> list[dict[str, Any]]:
    """How much room the hints of each level take in a prompt, in tokens."""
    found: dict[str, list[int]] = {level: [] for level in HintLevel.values}
    for hint in hints:
        found[hint.level].append(count_tokens(hint.text))
    return [
        {
            "level": HintLevel(level).label,
            "n": len(n),
            "smallest": min(n),
            "mean": sum(n) / len(n),
            "largest": max(n),
        }
        for level, n in found.items()
        if n
    ]


def uses_of(hint: Hint, user: User) -> list[dict[str, Any]]:
    """Which experiments told it to which task's runs, as far as the person may know."""
    uses = []
    for choice in hint.choices.select_related("hint_set", "task").order_by("pk"):
        runs = (
            Run.objects.visible_to(user)
            .not_anonymous()
            .filter(
                agent__config__hints=choice.hint_set.key,
                task=choice.task,
                superseded=False,
                experiment__isnull=False,
            )
            .order_by()
        )
        counts = dict(runs.values_list("experiment").annotate(n=Count("pk")))
        for experiment in Experiment.objects.filter(pk__in=counts).order_by("pk"):
            uses.append(
                {
                    "experiment": experiment,
                    "condition": choice.hint_set,
                    "task": choice.task,
                    "n_runs": counts[experiment.pk],
                }
            )
    return uses


def hint_facts(run: Run, user: User) -> dict[str, object]:
    """What the page of a run tells of hints: the one it was given, and how many came from it.

    Nothing where the run hides something from the viewer: a hint tells its agent's condition, and
    that one came from a run tells that it succeeded.
    """
    if hides_something(run) or not user.has_perm("runs.view_hint"):
        return {}
    shown = Hint.objects.visible_to(user)
    choice = None
    if key := run.agent.hint_key:
        told = shown.filter(pk=OuterRef("hint"))
        choices = HintChoice.objects.filter(Exists(told)).select_related(
            "hint_set", "hint__source__task"
        )
        choice = choices.filter(hint_set__key=key, task=run.task_id).first()
    return {"hint_choice": choice, "hints_from_run": list(shown.filter(source=run).order_by("pk"))}


may_view = needs("runs.view_hint")
may_write = needs("runs.add_hint")


@require_safe
@vary_on_headers("HX-Request")
@may_view
def hint_list(request: AppRequest) -> HttpResponse:
    """The jobs that wrote hints, live."""
    rows = job_rows(jobs_shown_to(request.user))
    context = {"rows": rows, "moves": any(row["job"].is_active for row in rows)}
    return render(request, "runs/knowledge/hint_list.html", context)


@require_safe
@vary_on_headers("HX-Request")
@may_view
def hint_job(request: AppRequest, job_id: UUID) -> HttpResponse:
    """One job, live: how far it is, what it wrote from which runs, and what came to nothing."""
    context = hint_job_context(_job(request, job_id), request.user)
    return render(request, "runs/knowledge/hint_job.html", context)


@require_POST
@may_write
def hint_job_cancel(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Ask a job to stop."""
    return cancelled(request, _job(request, job_id))


@require_POST
@may_write
def hint_job_resume(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Queue a stopped job again, where it stopped."""
    return resumed(request, _job(request, job_id))


@require_safe
@may_view
def hint_detail(request: AppRequest, hint_id: int) -> HttpResponse:
    """One hint: its text, where it comes from, and who was told it."""
    hint = get_object_or_404(Hint.objects.visible_to(request.user).for_list(), pk=hint_id)
    context = {
        "hint": hint,
        "tokens": count_tokens(hint.text),
        "further": hint.further.select_related("run").order_by("pk"),
        "uses": uses_of(hint, request.user),
        "siblings": Hint.objects.filter(job=hint.job, source=hint.source).exclude(pk=hint.pk),
    }
    return render(request, "runs/knowledge/hint_detail.html", context)


def _job(request: AppRequest, job_id: UUID) -> LearningJob:
    """The job, if nothing of it is hidden from the person."""
    job = get_object_or_404(hint_jobs(), pk=job_id)
    if not open_jobs([job], request.user):
        raise Http404
    return job
