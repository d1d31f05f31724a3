"""Let an agent try a task once, and keep everything that happens."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from webagent.agents.agent import Agent, Informed, RunEnd, Spending, environment_failed
from webagent.agents.episode import Episode
from webagent.agents.recovering import Recovery
from webagent.environment.interface import Environment, EnvironmentFailure
from webagent.environment.registry import make_environment
from webagent.recovery.retry_policy import RecoveryPolicy
from webagent.trajectory.intake import NO_NUMBER
from webagent.trajectory.live import StepResult
from webagent.trajectory.recording import Recorder, StepSink, goal_parts
from webagent.trajectory.records import (
    ChatMessage,
    Gap,
    Json,
    LlmCall,
    Outcome,
    RunRecord,
    SourceRecord,
    Totals,
    sums_of,
)

SOURCE_FORMAT = "crosscheck-agent"
MAX_SEED = 2**31
END = "end of the run"


def never() -> bool:
    """The answer of somebody who never wants a run stopped."""
    return False


def run_episode(
    task_name: str,
    agent: Agent,
    *,
    run_id: str,
    sink: StepSink,
    task_id: str | None = None,
    seed: int | None = None,
    max_steps: int = 15,
    time_limit_s: float | None = None,
    max_tokens: int | None = None,
    max_cost: Decimal | None = None,
    should_stop: Callable[[], bool] = never,
    evaluation: Json | None = None,
    environment: Environment | None = None,
    let_through: tuple[type[Exception], ...] = (),
    policy: RecoveryPolicy | None = None,
    other_agent: Agent | None = None,
) -> RunRecord:
    """The run as a record, after its steps have gone to the sink one by one.

    What goes wrong in the environment or the agent ends the run with outcome `error`; it is
    not raised. The browser is closed on every way out.

    Args:
        agent: a new one, made for this run.
        sink: called in this thread after each step, and again for each that is abandoned; what
            it raises ends the run and is raised.
        task_id: id of the task in the record, if that is not its name.
        seed: of the task; drawn and recorded if there is none.
        time_limit_s: no further step begins after so many seconds,
        max_tokens: or once the model calls of all agents took so many tokens,
        max_cost: or so many US dollars; calls without a known price count for nothing.
        should_stop: asked before and after all that takes time; what it raises is raised.
        evaluation: the task's own specification, for the evidence to capture at the end.
        environment: one to use instead of the one registered for the task; it is closed too.
        let_through: exceptions that are for the caller, wherever they come up.
        policy: when the agent counts as stuck and what is done then; nothing by default.
        other_agent: takes over for some steps after a recovery; a new one, for this run.
    """
    started_at = datetime.now(UTC)
    seed = random.SystemRandom().randrange(MAX_SEED) if seed is None else seed
    record = RunRecord(
        id=run_id,
        task_id=task_id or task_name,
        source=SourceRecord(format=SOURCE_FORMAT, tool="crosscheck"),
        agent=agent.describe(),
        seed=seed,
        max_steps=max_steps,
        started_at=started_at,
    )
    try:
        environment = environment or make_environment(task_name)
    except EnvironmentFailure as failure:
        return _ended(record, environment_failed(failure))
    recorder = Recorder(run_id, sink)
    episode = Episode(
        environment=environment,
        agent=agent,
        recorder=recorder,
        seed=seed,
        max_steps=max_steps,
        time_limit_s=time_limit_s,
        should_stop=should_stop,
        let_through=let_through,
        spending=Spending(max_tokens, max_cost),
        recovery=None if policy is None else Recovery(policy, agent, other_agent),
    )
    try:
        ending = episode.play()
        record = record.model_copy(update={"environment": environment.describe()})
        if ending.outcome is not Outcome.ERROR:
            record = _with_evidence(record, environment, evaluation)
    finally:
        environment.close()
    record = _ended(_with_course(record, episode), ending)
    return _with_accounts(record, episode, recorder.steps, agent)


def _with_evidence(
    record: RunRecord, environment: Environment, evaluation: Json | None
) -> RunRecord:
    """The record with what the pages showed, or with a gap that says why it is missing."""
    try:
        return record.model_copy(update={"evidence": environment.evidence(evaluation)})
    except EnvironmentFailure as failure:
        gap = Gap(what="evidence", where=END, why=str(failure))
        return record.model_copy(update={"gaps": (*record.gaps, gap)})


def _with_course(record: RunRecord, episode: Episode) -> RunRecord:
    """The record with what the episode went through: goal, answer, address, model calls."""
    first, last = episode.first, episode.last
    if first is None or last is None:
        return record
    said, calls = last.messages[len(first.messages) :], episode.spending.calls
    update: dict[str, object] = {
        # The pictures went to the sink with the first step.
        "goal": goal_parts(first, {}),
        "final_answer": _last_text(said, "assistant"),
        "infeasible_claim": _last_text(said, "infeasible"),
        "final_url": last.url,
        "claimed_success": episode.claimed_success,
        "models": tuple(dict.fromkeys(call.model for call in calls)),
        "totals": _totals(calls),
    }
    return record.model_copy(update=update | _rewarded(record, episode.result))


def _rewarded(record: RunRecord, result: StepResult | None) -> dict[str, object]:
    """The fields that the last reward fills, or the gap that one which is no number leaves."""
    if result is None or not result.scored:
        return {}
    if (reward := result.recorded_reward) is None:
        # No figures: gaps are shown to people who are still to judge the run.
        gap = Gap(what="reward", where=END, why=NO_NUMBER)
        return {"gaps": (*record.gaps, gap)}
    extra = {"benchmark_reward": result.reward, "binary_reward": reward == 1.0}
    return {"reward": reward, "extra": extra}


def _with_accounts(record: RunRecord, episode: Episode, n_steps: int, agent: Agent) -> RunRecord:
    """The record with what was noticed and undone, spent, and given of web knowledge."""
    events, extra = record.events, dict(record.extra or {})
    if (recovery := episode.recovery) is not None:
        events = recovery.events(n_steps)
        extra["recovery"] = recovery.summary()
    if (limits := episode.spending.summary()) is not None:
        extra["limits"] = limits
    if episode.spending.unpriced:
        extra["unpriced_calls"] = episode.spending.unpriced
    given = agent.knowledge_given() if isinstance(agent, Informed) else None
    if given is not None:
        extra["knowledge"] = given
    return record.model_copy(update={"events": events, "extra": extra or None})


def _ended(record: RunRecord, ending: RunEnd) -> RunRecord:
    """The record with its end. A run that broke has no reward: nothing was judged."""
    ended_at = datetime.now(UTC)
    extra = dict(record.extra or {})
    if ending.outcome is Outcome.ERROR:
        extra = {
            "error_kind": ending.error_kind,
            "retriable": ending.retriable,
            "retry_after_s": ending.retry_after_s,
        }
    seconds = (ended_at - record.started_at).total_seconds() if record.started_at else None
    return record.model_copy(
        update={
            "ended_at": ended_at,
            "outcome": ending.outcome,
            "end_reason": ending.reason,
            "error": ending.error,
            "reward": None if ending.outcome is Outcome.ERROR else record.reward,
            "totals": record.totals.model_copy(update={"seconds": seconds}),
            "extra": {key: value for key, value in extra.items() if value is not None} or None,
        }
    )


def _last_text(messages: Sequence[ChatMessage], role: str) -> str | None:
    return next((message.text for message in reversed(messages) if message.role == role), None)


def _totals(calls: Sequence[LlmCall]) -> Totals:
    """Sums over the model calls; None, not zero, for what no call reported."""
    sums = sums_of(calls)
    currency = None if sums["cost"] is None else "USD"
    return Totals(**sums, currency=currency, llm_calls=len(calls) or None)
