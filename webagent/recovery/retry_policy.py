"""A retry policy: what is done about runs that break, get stuck, cost too much or fail.

One document of plain values. It knows no database: agents are named by what they are made from.
"""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from webagent.trajectory.canonical import json_digest, plain_decimal
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import Json
from webagent.trajectory.values import Money


class AnomalyResponse(StrEnum):
    """What follows when an anomaly is noticed."""

    RECOVER = "recover"
    STOP = "stop"
    IGNORE = "ignore"


class WaitingSteps(StrEnum):
    """Whether steps that only wait count for the detectors, or are passed over."""

    COUNTS = "counts"
    EXEMPT = "exempt"


class Comparison(StrEnum):
    """What must be equal for two steps to count as the same in a loop."""

    ACTIONS = "actions"
    ACTIONS_AND_PAGE = "actions_and_page"


class RepeatedWrites(StrEnum):
    """What to do where a replay would repeat an action that looks like a write."""

    REFUSE = "refuse"
    CONTINUE = "continue"


class Fallback(StrEnum):
    """What follows where a recovery is wanted and cannot be had."""

    STOP = "stop"
    GO_ON = "go_on"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecoveryPolicy(_Part):
    """When an agent counts as stuck, and what is done about it. The numbers are the source's.

    Attributes:
        loop_shortest: smallest window, in steps, that counts as a loop if it repeats one block.
        loop_longest: largest such window.
        compare: what makes two steps of a loop the same; the source compares actions alone.
        false_completions: so many messages or waits in a row count as false completion.
        waiting: whether steps that only wait count, for both.
        steps_before: replay ends so many steps before the anomaly's first one.
        other_steps: so many steps the other agent takes before the first one goes on; 0 for
            none.
        recoveries: at most so many in a run.
        writes: whether to repeat steps that look like writes.
        otherwise: what follows when recoveries are used up or refused.
        settle_tries: so often a page that differs in the replay is looked at again,
        settle_ms: each time after so many milliseconds.
    """

    on_loop: AnomalyResponse = AnomalyResponse.RECOVER
    loop_shortest: int = Field(15, ge=2, le=1000)
    loop_longest: int = Field(25, ge=2, le=1000)
    compare: Comparison = Comparison.ACTIONS
    on_false_completion: AnomalyResponse = AnomalyResponse.RECOVER
    false_completions: int = Field(11, ge=2, le=1000)
    waiting: WaitingSteps = WaitingSteps.COUNTS
    steps_before: int = Field(5, ge=0, le=1000)
    other_steps: int = Field(10, ge=0, le=1000)
    recoveries: int = Field(2, ge=0, le=100)
    writes: RepeatedWrites = RepeatedWrites.REFUSE
    otherwise: Fallback = Fallback.STOP
    settle_tries: int = Field(3, ge=0, le=100)
    settle_ms: int = Field(1000, ge=1, le=60_000)

    @model_validator(mode="after")
    def _window_is_one(self) -> Self:
        if self.loop_shortest > self.loop_longest:
            raise ValueError("loop_shortest must not be above loop_longest")
        return self

    @property
    def may_recover(self) -> bool:
        """Whether anything can lead to a recovery."""
        return self.recoveries > 0 and AnomalyResponse.RECOVER in (
            self.on_loop,
            self.on_false_completion,
        )

    @property
    def takes_over(self) -> bool:
        """Whether there are steps for another agent."""
        return self.may_recover and self.other_steps > 0


MAX_RULES = 12
WORTH_RETRYING = tuple(sorted(fault for fault in Fault if fault.may_pass))


def _plain(value: Decimal) -> Decimal:
    """One spelling for one amount: `1.50` and `1.5` are the same policy."""
    return Decimal(plain_decimal(value))


def _sorted(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    return tuple(sorted(set(faults)))


Dollars = Annotated[Decimal, Field(gt=0, le=1_000_000, decimal_places=6), AfterValidator(_plain)]
Faults = Annotated[tuple[Fault, ...], AfterValidator(_sorted)]
Count = Annotated[int, Field(ge=1, le=10**12)]
Seconds = Annotated[int, Field(ge=1, le=10**8)]


class AgentChoice(_Part):
    """An agent by its name, with the configuration that it is made from."""

    name: str = Field(min_length=1, max_length=200)
    config: Json = Field(default_factory=dict)


class Infrastructure(_Part):
    """What happens when the infrastructure breaks a run.

    Attributes:
        faults: classes of errors after which the run is tried again; none is for never.
        attempts: how often it is tried in all, the first time included.
        backoff_s: seconds before the second attempt, doubled for each further one (and spread
            by half, so that many runs do not come back at once).
        backoff_cap_s: never longer than this.
    """

    faults: Faults = WORTH_RETRYING
    attempts: int = Field(3, ge=1, le=10)
    backoff_s: float = Field(5.0, gt=0, le=86_400)
    backoff_cap_s: float = Field(300.0, gt=0, le=86_400)

    @model_validator(mode="after")
    def _cap_is_above(self) -> Self:
        if self.backoff_cap_s < self.backoff_s:
            raise ValueError("backoff_cap_s must not be below backoff_s")
        return self

    def wait_s(self, attempt: int) -> float:
        """Seconds to wait after this attempt, before they are spread."""
        return min(self.backoff_s * 2.0 ** (attempt - 1), self.backoff_cap_s)


class RunLimits(_Part):
    """What one run may take; None is no limit of the policy's own.

    What other agents and abandoned branches took counts too. A run that reaches a limit ends as
    a failure of its agent, at the latest after one more decision.
    """

    steps: Annotated[int, Field(ge=1, le=10_000)] | None = None
    tokens: Count | None = None
    dollars: Dollars | None = None
    seconds: Seconds | None = None


class BatchLimits(_Part):
    """What the runs of one experiment, or of one launch, may take together; None is no limit.

    Attempts count each. Once a limit is reached no further run starts; those that are under way
    go on.
    """

    runs: Count | None = None
    tokens: Count | None = None
    dollars: Dollars | None = None
    seconds: Seconds | None = None


class RerunWhen(StrEnum):
    """What makes a run one that is to be run again. Whose word it takes is part of the name."""

    FAILED_OUTCOME = "failed_outcome"
    """The benchmark's own outcome is a failure."""
    FAILED_REFERENCE = "failed_reference"
    """The reference verdict of a study is a failure."""
    FAILED_EVALUATOR = "failed_evaluator"
    """The evaluator named in `subject` says that it failed."""
    MARKED = "marked"
    """The cause of failure in `subject` stands in somebody's label."""
    BROKE = "broke"
    """The infrastructure broke it, and no attempt is left."""
    LOOPED = "looped"
    """It went round in a loop."""
    FALSE_COMPLETION = "false_completion"
    """It declared completion, or waited, again and again."""
    AT_LIMIT = "at_limit"
    """A limit of steps, tokens, money or time ended it."""


NEEDS_SUBJECT = frozenset({RerunWhen.FAILED_EVALUATOR, RerunWhen.MARKED})


class RerunRule(_Part):
    """When a run is run again, how often, and by whom.

    Attributes:
        subject: the evaluator, or the cause of failure, that the rule asks for.
        faults: with `broke`, only these; None is for all.
        at_most: how many reruns the rule makes of one run, reruns of reruns included.
        agent: who runs it; None is for the same as before.
        new_seed: with another seed than before.
    """

    when: RerunWhen
    subject: str = Field("", max_length=200)
    faults: Faults | None = None
    at_most: int = Field(1, ge=1, le=20)
    agent: AgentChoice | None = None
    new_seed: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if bool(self.subject) is not (self.when in NEEDS_SUBJECT):
            raise ValueError(
                f"{self.when.value!r} must name its subject"
                if self.when in NEEDS_SUBJECT
                else f"{self.when.value!r} takes no subject"
            )
        if self.faults is not None and (self.when is not RerunWhen.BROKE or not self.faults):
            raise ValueError("faults belong to 'broke', one at least")
        return self

    @property
    def key(self) -> str:
        """What reruns remember the rule by.

        The same when only its number or its place changes, so that a later version of a policy
        goes on counting where the earlier one stopped.
        """
        said = self.model_dump(mode="json", include={"subject", "faults", "agent"})
        return f"{self.when.value}-{json_digest(said)[:12]}"


class PolicyBody(_Part):
    """The whole policy.

    Attributes:
        infrastructure: None leaves it to the settings of the installation.
        recovery: what is done about agents that are stuck; None leaves them alone.
        other_agent: takes over for some steps in a recovery; without one the same agent tries
            again by itself.
        reruns: asked in this order; the first one that fits and is not used up makes the rerun.
    """

    infrastructure: Infrastructure | None = None
    recovery: RecoveryPolicy | None = None
    other_agent: AgentChoice | None = None
    run: RunLimits = RunLimits()
    batch: BatchLimits = BatchLimits()
    reruns: tuple[RerunRule, ...] = Field((), max_length=MAX_RULES)

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.other_agent and not (self.recovery and self.recovery.takes_over):
            raise ValueError("other_agent acts only in a recovery with other_steps above 0")
        if len({rule.key for rule in self.reruns}) < len(self.reruns):
            raise ValueError("two of the reruns are the same rule")
        return self

    @property
    def agents(self) -> tuple[AgentChoice, ...]:
        named = [self.other_agent, *(rule.agent for rule in self.reruns)]
        return tuple(agent for agent in named if agent is not None)

    @property
    def content_hash(self) -> str:
        """SHA-256: equal for policies that do the same."""
        document = self.to_json()
        recovery = document["recovery"]
        # Policies from before this was a choice do not name it.
        if isinstance(recovery, dict) and recovery["compare"] == Comparison.ACTIONS_AND_PAGE:
            del recovery["compare"]
        return json_digest(document)

    def to_json(self) -> dict[str, JsonValue]:
        """The whole document, defaults included."""
        return self.model_dump(mode="json")


class Spent(_Part):
    """What some runs took together."""

    runs: int = 0
    tokens: int = 0
    dollars: Money = Decimal(0)
    seconds: float = 0.0


LimitName = Literal["runs", "tokens", "dollars", "seconds"]
_LIMITS: tuple[LimitName, ...] = ("runs", "tokens", "dollars", "seconds")


def reached(limits: BatchLimits, spent: Spent) -> tuple[LimitName, ...]:
    """Which limits of the batch are used up."""
    return tuple(
        name
        for name in _LIMITS
        if (limit := getattr(limits, name)) is not None and getattr(spent, name) >= limit
    )
