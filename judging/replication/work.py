"""Doing what a study file says: each part is started once, when what it waits for is there.

A command carries it out in its own process; what was started from a page, the sweep goes on with.
"""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from django.db import transaction
from django.utils import timezone

from judging.evaluating.evaluating import carry_out
from judging.evaluating.services import resume_batch
from judging.models import EvaluationBatch, Replication, ReplicationPart
from judging.replication.making import Maker
from judging.replication.planning import NotYetError, groups_of
from judging.replication.services import REPLICATION_STARTED, import_run_files, link
from judging.replication.sources import Kind
from judging.replication.study_parts import StudyFileError
from runs.accounts.audit_log import record_entry
from runs.catalogue.language_models import ModelUnavailableError
from runs.knowledge import learning
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import active_runs, carry_out_experiment, resume_experiment
from runs.models import LearningJob
from runs.models.leased_work import WorkState
from runs.queue.paid_work import Watcher, WorkRefusedError
from runs.queue.sweeping import swept

logger = logging.getLogger(__name__)
POLL_S = 1.0
REFUSED = (StudyFileError, PlanError, WorkRefusedError, ModelUnavailableError)
"""What says that a part cannot be done as things are."""
ACTIVE = (WorkState.QUEUED, WorkState.RUNNING)
Make = Callable[[], ReplicationPart]


class Work(Maker):
    """The work of one replication. Each verb does what can be done now, and twice does nothing."""

    def start_all(self) -> None:
        """Start every part whose time has come.

        Raises:
            StudyFileError: a part of the file cannot be done here; the words name it.
            PlanError, WorkRefusedError, ModelUnavailableError: the same, of what is launched.
        """
        self._begin()
        for kind, key, arms, make in self._wanted():
            if self._are_over(arms):
                self._once(kind, key, make)
        self.evaluate()
        is_over = self.is_over()
        if is_over != bool(self.replication.ended_at):
            self.replication.ended_at = timezone.now() if is_over else None
            self.replication.save(update_fields=["ended_at"])

    def import_runs(self) -> None:
        """Import the files of runs that the study file names, for its arms may be of them.

        Raises:
            StudyFileError: a file is missing, or a run of it cannot be taken.
        """
        paths = [self.path(each) for each in self.file.runs]
        import_run_files(paths, self.user)
        link(self.replication, self.file)

    def _wanted(self) -> list[tuple[Kind, str, Sequence[str], Make]]:
        """Kind and key of each part, the arms that it waits for, and what makes it."""
        groups = [
            (Kind.EXPERIMENT, group.key, (), partial(self.launch, group))
            for group in groups_of(self.file)
        ]
        learned = [
            (Kind.LEARNING, key, each.arms, partial(self.learn, key, each))
            for key, each in self.file.learning.items()
        ]
        judging = [
            (Kind.JUDGING, key, each.arms, partial(self.judge, key, each))
            for key, each in self.file.judging.items()
            if not each.study
        ]
        return [*groups, *learned, *judging]

    def resume(self) -> None:
        """Have what was stopped go on: experiments that rest, jobs and batches that stopped.

        Raises:
            WorkRefusedError: a job or batch has reached its limit of costs.
        """
        for part in self.sources.parts:
            if part.experiment:
                resume_experiment(experiment=part.experiment)
            if part.job and part.job.state in LearningJob.State.stopped():
                learning.resume_learning(job=part.job)
        for batch in self.batches():
            if batch.state in EvaluationBatch.State.stopped():
                resume_batch(batch=batch)

    def batches(self) -> list[EvaluationBatch]:
        """The evaluations that it had made."""
        studies = [study.pk for study in self.sources.studies.values()]
        since = self.replication.started_at or self.replication.created_at
        batches = EvaluationBatch.objects.filter(study__in=studies, created_at__gte=since)
        return list(batches.order_by("pk"))

    def jobs(self) -> list[LearningJob]:
        """What is being learned, summaries of its extractions included."""
        own = [part.job for part in self.sources.parts if part.job]
        summaries = LearningJob.objects.filter(
            kind=LearningJob.Kind.SUMMARISE,
            params__set__in=[pk for job in own for pk in job.report.get("sets", [])],
        )
        return [*own, *summaries]

    @transaction.atomic
    def _begin(self) -> None:
        row = Replication.objects.select_for_update().get(pk=self.replication.pk)
        if row.started_at is None:
            record_entry(REPLICATION_STARTED, about=row, words=row.name, user=self.user)
        row.started_at = row.started_at or timezone.now()
        row.problem = ""
        row.save(update_fields=["started_at", "problem"])
        self.replication = row

    def _once(self, kind: Kind, key: str, make: Make) -> None:
        """Make a part that is not there, and its row, together or not at all."""
        with transaction.atomic():
            # Two who start it at the same time take turns.
            Replication.objects.select_for_update().get(pk=self.replication.pk)
            if self.replication.parts.filter(kind=kind, key=key).exists():
                return
            try:
                part = make()
            except NotYetError:
                return
            part.replication, part.kind, part.key = self.replication, kind, key
            part.save(force_insert=True)

    def _are_over(self, arms: Sequence[str]) -> bool:
        """Whether all runs of these arms have ended."""
        found = self.sources.arms
        runs = [found[key] for key in arms]
        return not any(
            isinstance(each, str) or active_runs(each.experiment).exists() for each in runs
        )

    def is_over(self) -> bool:
        """Whether all parts are there, and none of them is under way."""
        there = {(part.kind, part.key) for part in self.sources.parts}
        wanted = {(str(kind), key) for kind, key, *_ in self._wanted()}
        return there >= wanted and not self.is_under_way()

    def is_under_way(self) -> bool:
        """Whether something runs, learns or is evaluated."""
        if any(each.state in ACTIVE for each in (*self.jobs(), *self.batches())):
            return True
        experiments = [part.experiment for part in self.sources.parts if part.experiment]
        return any(active_runs(experiment).exists() for experiment in experiments)


def carry_out_here(
    work: Work, *, should_stop: Callable[[], bool], on_change: Callable[[], None]
) -> bool:
    """Until nothing is left but what people have to do; False if it was stopped before.

    What another process left is taken up once its lease has run out.

    Raises:
        StudyFileError, PlanError, WorkRefusedError, ModelUnavailableError: a part cannot be done.
    """
    work.import_runs()
    while not should_stop():
        work.start_all()
        on_change()
        if not work.is_under_way():
            return work.is_over() or _stands_still(work)
        if not _some(work, should_stop, on_change):
            time.sleep(POLL_S)
    return False


def _stands_still(work: Work) -> bool:
    """Never: whatever is not over stands still for a reason, which is raised.

    Raises:
        WorkRefusedError: a job or batch stopped, and what comes next waits for it.
    """
    for each in (*work.jobs(), *work.batches()):
        if each.state in WorkState.stopped():
            raise WorkRefusedError(f"{each}: {each.problem or each.get_state_display()}")
    raise WorkRefusedError("nothing is under way, and a part still waits: an arm has no runs")


def _some(work: Work, should_stop: Callable[[], bool], on_change: Callable[[], None]) -> bool:
    """Do some of what is under way; whether any of it was there to be had."""
    found = False
    for experiment in work.sources.experiments:
        if active_runs(experiment).exists():
            carry_out_experiment(experiment, should_stop=should_stop, on_change=on_change)
            return True
    for job in work.jobs():
        if job.state in ACTIVE:
            found = learning.carry_out(job.pk) or found
    for batch in work.batches():
        if batch.state in ACTIVE:
            watcher = Watcher[EvaluationBatch](is_interrupted=should_stop)
            found = carry_out(batch.pk, watcher) or found
    on_change()
    return found


@swept
def go_on_with_replications() -> None:
    """Start what has become due of those that were started from a page."""
    rows = Replication.objects.exclude(started_at=None).filter(ended_at=None, problem="")
    for replication in rows.order_by("pk"):
        go_on(replication)


def go_on(replication: Replication, *, is_resumed: bool = False) -> None:
    """Start what can be started; where it cannot, the row says why and rests."""
    work = Work(replication, user=replication.created_by)
    try:
        if is_resumed:
            work.resume()
        work.start_all()
    except REFUSED as why:
        logger.info("The replication %s rests: %s", replication.name, why)
        Replication.objects.filter(pk=replication.pk).update(problem=str(why)[:2000])
