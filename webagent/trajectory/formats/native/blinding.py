"""What a blind export leaves out: everything that gives away a verdict, or who acted."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EndReason,
    Outcome,
    Record,
    RunRecord,
    SourceRecord,
    StepRecord,
    TaskRecord,
    Totals,
)
from webagent.trajectory.verdict_records import SAID

R = TypeVar("R", bound=Record)
HIDDEN_NAME = "hidden"

_TASK = {
    "eval": None,
    "reference": None,
    "reference_length": None,
    "infeasible_reason": None,
    "milestones": None,
}
_RUN = {
    "outcome": Outcome.UNKNOWN,
    "end_reason": EndReason.UNKNOWN,
    "reward": None,
    "claimed_success": None,
    "evidence": None,
    "logs": (),
    "artefacts": (),
}
_SAID: dict[str, Any] = dict.fromkeys(SAID, ())
_STEP = {"reward": None, "terminated": None, "truncated": None, "metrics": None, "events": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blinding:
    """Strips references, verdicts and rewards from runs, and names if `hide_agent`.

    Only fields whose meaning is known stay: unknown keys and free-form extras go, because
    nobody can say what they give away. So do logs and artefacts, which hold rewards.
    """

    hide_agent: bool = False

    def apply(self, bundle: RunBundle) -> RunBundle:
        """The same run as somebody may see it who is still to judge it."""
        return replace(
            bundle,
            task=self._known(bundle.task).model_copy(update=_TASK),
            run=self._run(bundle.run),
            steps=tuple(self._step(step) for step in bundle.steps),
            problems=(),
            **_SAID,
        )

    def _run(self, run: RunRecord) -> RunRecord:
        changes: dict[str, Any] = {
            **_RUN,
            "source": SourceRecord(format=run.source.format),
            "agent": AgentRecord(name=run.agent.name, version=run.agent.version),
            "events": tuple(event.model_copy(update={"detail": None}) for event in run.events),
        }
        if run.error:
            changes["error"] = run.error.model_copy(update={"stack": None})
        if self.hide_agent:
            changes |= {
                "agent": AgentRecord(name=HIDDEN_NAME),
                "models": (),
                "experiment": None,
                "totals": Totals(),
                "environment": None,
                "error": None,
            }
            if run.stub:
                nobody = {"agent": HIDDEN_NAME, "agent_version": None, "model": None}
                changes["stub"] = run.stub.model_copy(update=nobody)
        return self._known(run.model_copy(update=changes))

    def _step(self, step: StepRecord) -> StepRecord:
        changes: dict[str, Any] = dict(_STEP)
        if self.hide_agent:
            changes |= {"llm_calls": (), "messages": ()}
        return self._known(step.model_copy(update=changes))

    def _known(self, record: R) -> R:
        return _known(record, hide_names=self.hide_agent)


def without_answers(task: TaskRecord) -> TaskRecord:
    """The task without what tells how to succeed at it."""
    return _known(task).model_copy(update=_TASK)


def _known(record: R, *, hide_names: bool = False) -> R:
    """The record, and all records inside, with the fields of the format only."""
    known: R = _strip(record, hide_names)
    return known


def _strip(value: Any, hide_names: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_strip(item, hide_names) for item in value)
    if not isinstance(value, Record):
        return value
    fields = {name: _strip(getattr(value, name), hide_names) for name in type(value).model_fields}
    if "extra" in fields:
        fields["extra"] = None
    if isinstance(value, BlobRecord) and hide_names:
        fields["name"] = None
    return type(value).model_construct(**fields)
