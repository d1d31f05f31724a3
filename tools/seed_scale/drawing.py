"""Runs drawn at random: the rows of one experiment."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from judging.studies.access import Role
from tools.seed_scale import shares
from tools.seed_scale.plan import STEP_COLUMNS, Plan, Pool, TaskGroup
from webagent.agents.running import SOURCE_FORMAT

FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
"""Fixed, so that the same seed makes the same database."""
BETWEEN_RUNS = timedelta(seconds=50)
RUN_COLUMNS = (
    "id",
    "task",
    "agent",
    "experiment",
    "goal",
    "seed",
    "trial",
    "max_steps",
    "status",
    "outcome",
    "end_reason",
    "reward",
    "final_answer",
    "fault",
    "n_steps",
    "n_screenshots",
    "has_anomaly",
    "input_tokens",
    "output_tokens",
    "cost",
    "seconds",
    "source_format",
    "content_hash",
    "rerun_of",
    "retry_of",
    "family",
    "attempt",
    "superseded",
    "created_by",
    "created_at",
    "started_at",
    "ended_at",
    "priority",
    "queued_at",
    "claimed_at",
    "record",
)
_PICTURE, _SECONDS = STEP_COLUMNS.index("screenshot"), STEP_COLUMNS.index("seconds")
_TOKENS_IN, _TOKENS_OUT = STEP_COLUMNS.index("input_tokens"), STEP_COLUMNS.index("output_tokens")
RECORD = "{}"
"""Nothing but the columns is known, as of a run whose worker died before it left a record."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A run with its steps, as rows."""

    id: str
    task_id: int
    outcome: str
    is_judgeable: bool
    """Whether it ended and counts."""
    created_at: str
    row: tuple[Any, ...]
    steps: list[tuple[Any, ...]]
    events: list[tuple[Any, ...]]


@dataclass(slots=True)
class _Origin:
    """The run that the next one repeats."""

    id: str
    family: str
    agent: int
    task: int
    trial: int
    attempt: int
    is_retry: bool


def draw_runs(
    n: int, *, first: int, plan: Plan, pool: Pool, random: Random, experiment: int, paused: bool
) -> Iterator[Drawn]:
    """The runs of one experiment; a paused one has some that wait.

    Args:
        first: number of the first of them among all.
    """
    group = random.choice(plan.groups)
    agents = random.sample(plan.agents, k=min(4, len(plan.agents)))
    lengths, outcomes = shares.RUN_STEPS.draw(random, n), shares.OUTCOMES.draw(random, n)
    answers = shares.ANSWER_CHARS.draw(random, n)
    before: _Origin | None = None
    for number in range(n):
        is_queued = paused and random.random() < 10 * shares.QUEUED
        breaks = not is_queued and number + 1 < n and random.random() < shares.SUPERSEDED
        outcome = "error" if breaks else "unknown" if is_queued else outcomes[number]
        task = group.tasks[number % len(group.tasks)]
        spot = _Origin(
            id=UUID(int=random.getrandbits(128), version=4).hex,
            family="",
            agent=agents[number % len(agents)].pk,
            task=task.pk,
            trial=1 + number // (len(group.tasks) * len(agents)),
            attempt=1,
            is_retry=False,
        )
        retries = before is not None and before.is_retry
        repeats = before if retries or random.random() < shares.RERUNS else None
        if repeats:
            spot.family, spot.agent, spot.task = repeats.family, repeats.agent, repeats.task
            spot.trial = repeats.trial
            spot.attempt = repeats.attempt + 1 if retries else 1
        steps = [] if is_queued else random.choices(pool.steps, k=lengths[number])
        yield _drawn(
            spot,
            repeats,
            retries=retries,
            breaks=breaks,
            queued=is_queued,
            outcome=outcome,
            answer=pool.text(random, answers[number]) or None,
            goal=task.goal,
            group=group,
            steps=steps,
            at=FIRST_DAY + (first + number) * BETWEEN_RUNS,
            plan=plan,
            random=random,
            experiment=experiment,
        )
        before = spot
        before.family = spot.family or spot.id
        before.is_retry = breaks
        if is_queued:
            before = None


def _drawn(
    spot: _Origin,
    repeats: _Origin | None,
    *,
    retries: bool,
    breaks: bool,
    queued: bool,
    outcome: str,
    answer: str | None,
    goal: str,
    group: TaskGroup,
    steps: list[tuple[Any, ...]],
    at: datetime,
    plan: Plan,
    random: Random,
    experiment: int,
) -> Drawn:
    seconds = round(sum(step[_SECONDS] for step in steps), 3)
    tokens_in = sum(step[_TOKENS_IN] for step in steps)
    tokens_out = sum(step[_TOKENS_OUT] for step in steps)
    is_ours = group.shape.source_format == SOURCE_FORMAT
    failed = outcome == "error" and (breaks or is_ours)
    (fault,) = shares.FAULTS.draw(random, 1) if outcome == "error" else ("",)
    (end,) = ("unknown",) if queued else shares.ENDS[outcome].draw(random, 1)
    events = [] if queued else list(_events(spot.id, len(steps), random))
    reward = {"success": 1.0, "failure": 0.0}.get(outcome)
    started = None if queued else text_of(at)
    row = (
        spot.id,
        spot.task,
        spot.agent,
        experiment,
        goal,
        random.randrange(10_000),
        spot.trial,
        30,
        "queued" if queued else "failed" if failed else "finished",
        outcome,
        end,
        reward,
        None if queued else answer,
        fault,
        len(steps),
        sum(step[_PICTURE] is not None for step in steps),
        any(event[1] in ("loop", "false_completion") for event in events),
        tokens_in or None,
        tokens_out or None,
        f"{tokens_in * 2e-6 + tokens_out * 8e-6:.6f}",
        seconds,
        group.shape.source_format,
        None if queued else hashlib.sha256(spot.id.encode()).hexdigest(),
        repeats.id if repeats and not retries else None,
        repeats.id if repeats and retries else None,
        repeats.family if repeats else None,
        spot.attempt,
        breaks,
        random.choice(plan.people[Role.ENGINEER]).pk,
        text_of(at),
        started,
        None if queued else text_of(at + timedelta(seconds=seconds)),
        1,
        text_of(at) if is_ours or queued else None,
        started if is_ours else None,
        RECORD,
    )
    numbered = [(spot.id, index, *step) for index, step in enumerate(steps)]
    is_judgeable = not queued and not breaks
    return Drawn(spot.id, spot.task, outcome, is_judgeable, text_of(at), row, numbered, events)


def _events(run: str, length: int, random: Random) -> Iterator[tuple[Any, ...]]:
    if length >= 4 and random.random() < shares.LOOPS:
        first = random.randrange(length - 3)
        yield (run, "loop", first, random.randrange(first + 2, length))
    if length >= 2 and random.random() < shares.FALSE_COMPLETIONS:
        yield (run, "false_completion", length - 2, length - 1)


def text_of(moment: datetime) -> str:
    """A time in UTC, as both databases read it."""
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")
