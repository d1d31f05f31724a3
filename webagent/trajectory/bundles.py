"""A run with all that belongs to it, as readers yield it, and what a blind export leaves of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, TypeVar, get_args

from webagent.trajectory.blobs import BlobSource, BlobStash
from webagent.trajectory.canonical import run_content_hash
from webagent.trajectory.intake import Problem
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
from webagent.trajectory.verdict_records import (
    SAID,
    AdjudicationRecord,
    EvaluationRecord,
    HintRecord,
    LabelRecord,
)

R = TypeVar("R", bound=Record)
Said = EvaluationRecord | LabelRecord | AdjudicationRecord


def place_of(said: Said) -> str:
    """What is said of a run, as a problem with it names it."""
    kind = type(said).__name__.removesuffix("Record").lower()
    return f"{kind} {said.id}"


def n_taken(said: Iterable[Said], problems: Iterable[Problem]) -> int:
    """How many of these no problem refuses."""
    refused = {problem.file for problem in problems}
    return sum(place_of(each) not in refused for each in said)


@dataclass(frozen=True, kw_only=True)
class RunBundle:
    """One run with its task, steps, verdicts and files. Ids are those of the source."""

    source: str
    """Where it lay, as a path inside what was given."""
    task: TaskRecord
    run: RunRecord
    steps: tuple[StepRecord, ...] = ()
    evaluations: tuple[EvaluationRecord, ...] = ()
    labels: tuple[LabelRecord, ...] = ()
    adjudications: tuple[AdjudicationRecord, ...] = ()
    hints: tuple[HintRecord, ...] = ()
    """Written from this run."""
    blobs: BlobSource = field(default_factory=BlobStash, repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @cached_property
    def content_hash(self) -> str:
        """The same for the same run, whatever installation it comes from."""
        return run_content_hash(self.task, self.run, self.steps)

    @property
    def n_screenshots(self) -> int:
        """How many observations have a clean picture."""
        observations = [o for step in self.steps for o in (step.before, step.after) if o]
        return sum(o.screenshot is not None for o in observations)

    def records(self) -> Iterator[Record]:
        """Every record, task first."""
        yield self.task
        yield self.run
        yield from self.steps
        for name in SAID:
            yield from getattr(self, name)

    def blob_records(self) -> Iterator[BlobRecord]:
        """Every blob that is mentioned, each hash once, in order of appearance."""
        return iter(self._mentioned.values())

    @cached_property
    def _mentioned(self) -> dict[str, BlobRecord]:
        found: dict[str, BlobRecord] = {}
        for record in self.records():
            for blob in blobs_of(record):
                found.setdefault(blob.sha256, blob)
        return found

    def read_blob(self, sha256: str) -> bytes:
        """The verified bytes of one blob. Raises BlobError."""
        return self.blobs.read(sha256)


def blobs_of(value: Record | tuple[object, ...]) -> Iterator[BlobRecord]:
    """Every blob inside a record, in the order of its fields."""
    if isinstance(value, BlobRecord):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            if isinstance(item, (tuple, Record)):
                yield from blobs_of(item)
    else:
        fields = value.__dict__
        for name in _fields_with_blobs(type(value)):
            if item := fields[name]:
                yield from blobs_of(item)


@cache
def _fields_with_blobs(kind: type[Record]) -> tuple[str, ...]:
    """Those that may hold one, by their types: few of a step's many parts do."""
    fields = kind.model_fields.items()
    return tuple(name for name, field in fields if _may_hold_blobs(field.annotation))


def _may_hold_blobs(annotation: object) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation is BlobRecord or bool(_fields_with_blobs(annotation))
    return any(_may_hold_blobs(part) for part in get_args(annotation))


_HIDDEN_NAME = "hidden"

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
                "agent": AgentRecord(name=_HIDDEN_NAME),
                "models": (),
                "experiment": None,
                "totals": Totals(),
                "environment": None,
                "error": None,
            }
            if run.stub:
                nobody = {"agent": _HIDDEN_NAME, "agent_version": None, "model": None}
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
