"""Why failures failed: drawing a sample, proposing causes in the background, saying the cause of
one, and taking that back.
"""

import logging
import random
import time
from functools import partial
from uuid import UUID

from celery import shared_task
from django.db import transaction

from judging.analysis.experiments.population import whole_scope
from judging.analysis.miniwob.figures import COUNTS, OF_RULE, Rule, runs_of_suite
from judging.analysis.miniwob.proposing import proposal_for
from judging.models import FailureCause, FailureCauseTag, FailureSample, SampledFailure
from runs.models import AgentConfiguration, Experiment, Run, User
from runs.queue.sweeping import swept
from runs.queue.workers import ask_for
from webagent.environment.miniwob_suite import steps_of

SIZE = 100
"""As in the source."""
MAX_SEED = 2**31
PROPOSE_CAUSES = "judging.tasks.propose_causes"
AT_ONE_GO_S = 20
"""Other work of the queue waits no longer than this."""
logger = logging.getLogger(__name__)


class NoFailuresError(Exception):
    """There is no failure to draw."""


def draw_sample(
    *,
    experiment: Experiment,
    agent: AgentConfiguration,
    size: int = SIZE,
    seed: int | None = None,
    user: User | None = None,
) -> FailureSample:
    """So many failures of one configuration at random; what is proposed for each comes afterwards.

    A failure is a run that counts, at a task that counts, without a reward above 0. The newest
    sample of a configuration is the one that is tagged; causes are kept with the runs. Raises
    NoFailuresError where no run of it failed.
    """
    seed = random.SystemRandom().randrange(MAX_SEED) if seed is None else seed
    failures = failures_of(experiment, agent)
    if not failures:
        raise NoFailuresError(f"No run of {agent} failed.")
    drawn = random.Random(seed).sample(failures, min(size, len(failures)))  # noqa: S311
    with transaction.atomic():
        sample = FailureSample.objects.create(
            experiment=experiment,
            agent=agent,
            seed=seed,
            wanted=size,
            among=len(failures),
            drawn_by=user,
        )
        SampledFailure.objects.bulk_create(
            SampledFailure(sample=sample, run_id=pk, position=place)
            for place, pk in enumerate(drawn, start=1)
        )
        transaction.on_commit(partial(ask_for, PROPOSE_CAUSES))
    return sample


def failures_of(experiment: Experiment, agent: AgentConfiguration) -> list[UUID]:
    """The runs that a sample is drawn from, in an order that hangs on nothing but task and seed."""
    failed = runs_of_suite(whole_scope(experiment)).filter(COUNTS, agent=agent)
    rows = failed.exclude(OF_RULE[Rule.POSITIVE], reward__isnull=False).order_by(
        "task__external_id", "seed", "trial", "pk"
    )
    return [pk for pk, task in rows.values_list("pk", "task__external_id") if steps_of(task)]


@shared_task(name=PROPOSE_CAUSES, time_limit=660)
def propose_causes() -> None:
    """Look at failures that were drawn; the sweep asks again till none waits."""
    propose_waiting(limit_s=AT_ONE_GO_S)


@swept
def ask_for_proposals() -> None:
    """Have drawn failures looked at that wait for it."""
    if proposals_wait():
        ask_for(PROPOSE_CAUSES)


def proposals_wait() -> bool:
    """Whether there is a sampled failure that was not looked at yet."""
    return SampledFailure.objects.filter(proposal__isnull=True).exists()


def propose_waiting(*, limit_s: float) -> None:
    """Look at what waits, newest samples first, till nothing does or the time is over.

    Several may do it at a time: they come to the same.
    """
    ends = time.monotonic() + limit_s
    waiting = SampledFailure.objects.filter(proposal__isnull=True).select_related("run")
    while time.monotonic() < ends:
        failure = waiting.order_by("-sample", "position").first()
        if failure is None:
            return
        try:
            proposal = proposal_for(failure.run)
        except Exception:  # what one run holds must not keep the others waiting
            logger.exception("No cause can be proposed for run %s.", failure.run_id)
            proposal = {}
        SampledFailure.objects.filter(pk=failure.pk).update(proposal=proposal)


@transaction.atomic
def tag_cause(*, user: User, run_id: UUID, cause: FailureCause, note: str = "") -> bool:
    """Say why the run failed; False where that is what counts already, or it has not ended."""
    if not _is_locked(run_id):
        return False
    tags = FailureCauseTag.objects.filter(run=run_id, is_current=True)
    tag = FailureCauseTag(
        run_id=run_id,
        by=user,
        proposed=proposed_for(run_id),
        replaces=tags.first(),
        cause=cause.value,
        note=note,
    )
    return bool(FailureCauseTag.objects.append([tag]))


@transaction.atomic
def undo_cause(*, user: User, run_id: UUID) -> bool:
    """Give the run the word from before; False where nothing was said. Undone twice, it is back."""
    tags = FailureCauseTag.objects.filter(run=run_id)
    return _is_locked(run_id) and bool(tags.undo(user, proposed=proposed_for(run_id)))


def _is_locked(run_id: UUID) -> bool:
    """Whether the run has ended; it is nobody else's until the transaction ends."""
    return Run.objects.ended().filter(pk=run_id).select_for_update(of=("self",)).exists()


def proposed_for(run_id: UUID) -> str:
    """The cause that was proposed when the run was last drawn; empty for none."""
    newest = SampledFailure.objects.filter(run=run_id).order_by("-sample").first()
    return (newest and newest.proposed) or ""
