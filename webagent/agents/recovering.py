"""Getting a stuck agent out: what was done so far, who acts now, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from webagent.agents.agent import Agent
from webagent.recovery.anomalies import KEPT, Anomaly, Screens, Watch, what_was_done
from webagent.recovery.retry_policy import AnomalyResponse, Fallback, RecoveryPolicy, RepeatedWrites
from webagent.trajectory.actions import action_kind, parse_browsergym_actions
from webagent.trajectory.live import Decision, Observation, StepResult, Taken
from webagent.trajectory.records import EndReason, EventKind, EventRecord, Json, StepRecord
from webagent.trajectory.values import not_none, total


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step on the way that counts: what an agent may remember, and what a replay repeats."""

    taken: Taken
    record: StepRecord

    @property
    def index(self) -> int:
        return self.record.index

    @property
    def action(self) -> str:
        """As it was decided; only steps with an action are on the way."""
        return self.taken.decision.action or ""


@dataclass(frozen=True, slots=True)
class WayBack:
    """What follows on an anomaly: back to where `keep` steps were done, the end, or neither."""

    anomaly: Anomaly
    answer: Literal["recovered", "stopped", "spent", "refused", "run_ended"]
    keep: int | None = None
    end: EndReason | None = None
    writes: tuple[int, ...] = ()


WhyAstray = Literal["goal", "page", "target", "ended"]
"""Another goal, page or element as target, or the task ended there."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a replay came to another page than step `repeats` had seen."""

    step: int
    repeats: int
    why: WhyAstray
    expected: Observation
    found: Observation


@dataclass(slots=True)
class _Mark:
    """An event whose last step is not known yet."""

    kind: EventKind
    first: int
    last: int | None
    detail: dict[str, JsonValue] = field(default_factory=dict)


class Recovery:
    """The recovery of one run: its memory, its detectors and its books.

    Args:
        other: takes over after a recovery; without one the first goes on itself.
    """

    def __init__(self, policy: RecoveryPolicy, first: Agent, other: Agent | None) -> None:
        self.policy = policy
        self.acting = first
        self.path: list[PathStep] = []
        """The steps that count, in order; those of abandoned branches are not among them."""
        self._first = first
        self._other = other if policy.other_steps else None
        self._other_took: list[PathStep] = []
        self._all_by_other = 0
        self._switch: _Mark | None = None
        self._watch = Watch(policy)
        self._screens = Screens(max(KEPT, policy.loop_longest))
        self._abandoned: list[PathStep] = []
        self._marks: list[_Mark] = []
        self._recoveries = 0
        self._anomalies = 0
        self._replayed = 0
        self._saved: int | None = None

    @property
    def history(self) -> tuple[Taken, ...]:
        """What an agent is to remember."""
        return tuple(step.taken for step in self.path)

    def judge(
        self, index: int, before: Observation, decision: Decision, *, is_over: bool, steps_left: int
    ) -> WayBack | None:
        """What follows on the step that was just taken; None if nothing is wrong.

        Args:
            is_over: the run ends with this step anyway.
            steps_left: how many steps the run may still take.
        """
        calls = parse_browsergym_actions(decision.action or "")
        kinds = [action_kind(call) for call in calls]
        did = what_was_done(calls, before, self._screens, self.policy.compare)
        anomaly = self._watch.see(index, did, kinds)
        if anomaly is None:
            return None
        way = WayBack(anomaly, "run_ended") if is_over else self._way(anomaly)
        self._anomalies += 1
        self._note_anomaly(way, steps_left)
        if way.keep is None:
            self._watch.start_anew()
        return way

    def took(
        self, record: StepRecord, before: Observation, decision: Decision, result: StepResult
    ) -> bool:
        """Note a step that was taken; whether another agent is to take the next one."""
        by = self.acting.describe().name
        taken = Taken(before=before, decision=decision, error=result.error, by=by)
        step = PathStep(taken, record)
        self.path.append(step)
        if self._switch is None:
            return False
        self._other_took.append(step)
        self._all_by_other += 1
        if len(self._other_took) < self.policy.other_steps:
            return False
        self._end_switch()
        return True

    def cut(self, way: WayBack, at: int) -> tuple[PathStep, ...]:
        """The steps that are undone; the way is as long as the recovery keeps it.

        Args:
            at: index of the next step to be recorded.
        """
        keep = way.keep or 0
        self._end_switch()
        undone = tuple(self.path[keep:])
        del self.path[keep:]
        self._abandoned += undone
        self._recoveries += 1
        self._watch.start_anew()
        detail: Json = {
            "trigger": way.anomaly.kind,
            "anomaly": [way.anomaly.first, way.anomaly.last],
            "to_step": undone[0].index,
            "recovery": self._recoveries,
            "abandoned": _costs(undone),
        }
        self._marks.append(_Mark("rollback", at, at, detail))
        return undone

    def replayed(self, steps: int, *, seconds: float, diverged: Divergence | None) -> None:
        """Note how the replay went: how many steps it repeated, and where it went astray."""
        self._replayed += steps
        mark = self._marks[-1]
        mark.last = mark.first + max(steps - 1, 0)
        mark.detail |= {"replayed": steps, "replay_seconds": round(seconds, 3)}
        if diverged is not None:
            detail: Json = {
                "why": diverged.why,
                "repeats": diverged.repeats,
                "recovery": self._recoveries,
                "expected_url": diverged.expected.url,
                "found_url": diverged.found.url,
                "expected": diverged.expected.fingerprint,
                "found": diverged.found.fingerprint,
            }
            at = diverged.step
            self._marks.append(_Mark("replay_diverged", at, at, detail))

    def switch(self, at: int) -> None:
        """After a replay, the other agent takes the next steps, beginning with number `at`."""
        if self._other is None:
            return
        self.acting = self._other
        detail: dict[str, JsonValue] = {
            **_names("from_", self._first),
            **_names("to_", self._other),
            "for_steps": self.policy.other_steps,
            "recovery": self._recoveries,
        }
        self._switch = _Mark("model_switch", at, None, detail)

    def events(self, n_steps: int) -> tuple[EventRecord, ...]:
        """The marks for the timeline of a run that has ended after so many steps."""
        self._end_switch()
        end = n_steps - 1
        marks = [replace(mark, first=min(mark.first, end)) for mark in self._marks if end >= 0]
        marks.sort(key=lambda mark: mark.first)
        return tuple(
            EventRecord(
                kind=mark.kind,
                first_step=mark.first,
                last_step=min(mark.first if mark.last is None else mark.last, end),
                detail=mark.detail,
            )
            for mark in marks
        )

    def summary(self) -> Json:
        """What the policy was, and what it led to and cost."""
        other = self._other.describe().to_json() if self._other else None
        return {
            "policy": self.policy.model_dump(mode="json"),
            "other_agent": other,
            "anomalies": self._anomalies,
            "recoveries": self._recoveries,
            "abandoned": _costs(self._abandoned),
            "replayed_steps": self._replayed,
            "steps_by_other": self._all_by_other,
            "steps_saved_at_most": self._saved,
        }

    def _way(self, anomaly: Anomaly) -> WayBack:
        policy = self.policy
        is_loop = anomaly.kind == "loop"
        if (policy.on_loop if is_loop else policy.on_false_completion) is AnomalyResponse.STOP:
            return WayBack(anomaly, "stopped", end=EndReason.HARNESS_LOOP_STOP)
        ends = policy.otherwise is Fallback.STOP
        if self._recoveries >= policy.recoveries:
            return WayBack(anomaly, "spent", end=EndReason.RECOVERY_EXHAUSTED if ends else None)
        before = sum(step.index < anomaly.first for step in self.path)
        keep = max(0, before - policy.steps_before)
        writes = tuple(step.index for step in self.path[:keep] if step.record.write_like)
        if writes and policy.writes is RepeatedWrites.REFUSE:
            end = EndReason.RECOVERY_REFUSED if ends else None
            return WayBack(anomaly, "refused", end=end, writes=writes)
        return WayBack(anomaly, "recovered", keep=keep, writes=writes)

    def _note_anomaly(self, way: WayBack, steps_left: int) -> None:
        detail: dict[str, JsonValue] = {
            "period": way.anomaly.period,
            "answer": way.answer,
            **_names("", self.acting),
        }
        if way.answer == "recovered":
            detail["recovery"] = self._recoveries + 1
        if way.writes:
            detail["writes"] = list(way.writes)
        if way.end is not None:
            self._saved = detail["steps_saved_at_most"] = steps_left
        anomaly = way.anomaly
        self._marks.append(_Mark(anomaly.kind, anomaly.first, anomaly.last, detail))

    def _end_switch(self) -> None:
        """The first agent acts from now on."""
        mark, took = self._switch, self._other_took
        self.acting, self._switch, self._other_took = self._first, None, []
        if mark is not None and took:
            mark.last = took[-1].index
            mark.detail["cost"] = _costs(took)
            self._marks.append(mark)


def _names(prefix: str, agent: Agent) -> dict[str, JsonValue]:
    """Name of an agent, and its model where its configuration names one."""
    told = agent.describe()
    names: dict[str, JsonValue] = {f"{prefix}agent": told.name}
    model = (told.config or {}).get("model")
    if isinstance(model, str):
        names[f"{prefix}model"] = model
    return names


def _costs(steps: Sequence[PathStep]) -> Json:
    """What these steps took; what no model call reported is left out."""
    calls = [call for step in steps for call in step.taken.decision.llm_calls]
    costs: Json = {
        "steps": len(steps),
        "seconds": round(sum(step.record.seconds or 0.0 for step in steps), 3),
    }
    if calls:
        costs["llm_calls"] = len(calls)
        costs["models"] = list(dict.fromkeys(call.model for call in calls))
    cost = total(call.cost for call in calls)
    reported: Json = {
        "input_tokens": total(call.input_tokens for call in calls),
        "output_tokens": total(call.output_tokens for call in calls),
        "cost": None if cost is None else str(cost),
    }
    return costs | not_none(reported)
