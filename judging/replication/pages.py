"""What the page of a replication shows of its progress."""

from dataclasses import dataclass

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.translation import gettext as _

from judging.models import EvaluationBatch, StudyItem
from judging.replication.sources import Kind, Sources
from runs.launching.experiments.progress import progress_of_each
from runs.models.leased_work import WorkState


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProgress:
    """How far one part is; `total` is None where that is not known."""

    kind: str
    name: str
    url: str
    state: str
    """A word that style sheets know."""
    words: str
    done: int
    total: int | None = None
    note: str = ""


def progress_of(sources: Sources) -> list[PartProgress]:
    """Of every part that was begun. A constant number of queries for each kind."""
    return [*_experiments(sources), *_learning(sources), *_judging(sources)]


def _experiments(sources: Sources) -> list[PartProgress]:
    if sources.user is None:
        return []
    return [
        PartProgress(
            kind=str(Kind.EXPERIMENT.label),
            name=each.experiment.name,
            url=reverse("judging:experiment_detail", args=[each.experiment.pk]),
            state=each.state,
            words=each.state_words,
            done=each.done + each.cancelled,
            total=each.total,
        )
        for each in progress_of_each(sources.experiments, sources.user)
    ]


def _learning(sources: Sources) -> list[PartProgress]:
    return [
        PartProgress(
            kind=str(Kind.LEARNING.label),
            name=part.key,
            url=part.job.get_absolute_url(),
            state=part.job.state,
            words=part.job.get_state_display(),
            done=part.job.n_done,
            total=part.job.n_total,
            note=part.job.problem,
        )
        for part in sources.parts
        if part.job
    ]


def _judging(sources: Sources) -> list[PartProgress]:
    """Settled runs of each study; of one in which the reader judges, only that it is there."""
    studies = [row for row in sources.studies.values() if row.pk not in sources.hidden_studies]
    settled = Q(status=StudyItem.Status.SETTLED)
    rows = StudyItem.objects.filter(study__in=studies).order_by().values("study")
    counts = {
        row["study"]: (row["done"], row["total"])
        for row in rows.annotate(total=Count("pk"), done=Count("pk", filter=settled))
    }
    active = (WorkState.QUEUED, WorkState.RUNNING)
    batches = EvaluationBatch.objects.filter(study__in=studies, state__in=active)
    evaluated = set(batches.values_list("study", flat=True))
    found = []
    for key, study in sources.studies.items():
        done, total = counts.get(study.pk, (0, 0))
        is_hidden = study.pk in sources.hidden_studies
        is_active = study.pk in evaluated
        words = _("still judged by you") if is_hidden else _("settled runs")
        found.append(
            PartProgress(
                kind=str(Kind.JUDGING.label),
                name=study.name or key,
                url=reverse("judging:study_detail", args=[study.pk]),
                state="running" if is_active else "finished" if done == total else "waiting",
                words=_("is being evaluated") if is_active else words,
                done=done,
                total=None if is_hidden else total,
            )
        )
    return found
