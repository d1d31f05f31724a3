"""What readers of every format do alike when they put a run together."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

from webagent.trajectory.bundles import UNKNOWN, RunBundle
from webagent.trajectory.files.run_files import BlobFiles
from webagent.trajectory.intake import WHY_REFUSED, InputError, problems_of
from webagent.trajectory.records import (
    BlobPart,
    BlobRecord,
    Box,
    EndReason,
    ErrorRecord,
    GoalPart,
    Observation,
    Outcome,
    Point,
    RunRecord,
    SourceRecord,
    StepRecord,
    TaskRecord,
    TaskSetRecord,
    TextPart,
)
from webagent.trajectory.texts import bounded_name, storable_json, storable_text
from webagent.trajectory.values import items, number, refused
from webagent.trajectory.verdict_records import (
    AdjudicationRecord,
    EvaluationRecord,
    EvaluatorRecord,
    LabelRecord,
)

URL_CHARS = 4_000
TARGET_CHARS = 300
"""Of the words of an element that was acted on."""
VIDEOS = {".webm": "video/webm", ".mp4": "video/mp4"}
PASSED_ABOVE = 0.5
"""Custom of benchmarks: rewards may be fractional, and more than half counts as success."""
SCALE = f"passed above {PASSED_ABOVE}"
_PATH_CHARS = 1_000
T = TypeVar("T")


@dataclass(frozen=True)
class Ending:
    """How a run ended and what came of it, under the names of a run's fields."""

    outcome: Outcome
    end_reason: EndReason = EndReason.UNKNOWN
    reward: float | None = None
    error: ErrorRecord | None = None


class RunFiles(BlobFiles):
    """The files of one run, and the run that is put together from them."""

    run_id = ""
    """Set by the reader, once it is known."""
    answers: Mapping[str, str] = {}
    """What the person who imports said to the reader's questions: key -> choice."""

    def clean(self, words: object, limit: int | None = None) -> str | None:
        """Text without secrets, as it may stand in a record; None if it is none or empty."""
        if not isinstance(words, str) or not words:
            return None
        bound = self.bounds.text_chars if limit is None else limit
        return storable_text(self.redactor.text(words), bound)

    def clean_name(self, name: object) -> str | None:
        """A name without secrets, as an identifier; None if it is none or empty."""
        return bounded_name(self.redactor.text(name)) if isinstance(name, str) and name else None

    def clean_json(self, value: Any) -> Any:
        """JSON without secrets, as it may stand in a record."""
        return self.storable(self.redactor.json(value))

    def storable(self, value: Any) -> Any:
        """JSON as it may stand in a record, secrets and all."""
        # Records nest it some levels deeper, and readers of files count from the top.
        return storable_json(value, self.bounds.text_chars, self.bounds.json_depth - 8)

    def goal(self, words: str | None) -> tuple[GoalPart, ...]:
        """A goal of text alone."""
        return (TextPart(text=storable_text(words, self.bounds.text_chars)),) if words else ()

    def check_steps(self, n: int, field: str, what: str = "steps", file: str = "") -> None:
        """Refuse a run of more steps than are allowed. Raises InputError."""
        if n > self.bounds.steps_per_run:
            raise InputError(field, f"more than {self.bounds.steps_per_run} {what}", file=file)

    def source_record(
        self,
        path: str,
        *,
        format_version: str | None = None,
        tool: str | None = None,
        tool_version: str | None = None,
        originals: Iterable[BlobRecord | None] = (),
    ) -> SourceRecord:
        """Where the run came from, and what was dropped and redacted. Call it last."""
        return SourceRecord(
            format=self.format,
            format_version=storable_text(format_version, 100) if format_version else None,
            tool=tool,
            tool_version=storable_text(tool_version, 100) if tool_version else None,
            path=storable_text(path, _PATH_CHARS) or None,
            imported_files=tuple(dict.fromkeys(self.imported)),
            importer=f"crosscheck-{self.format}",
            importer_version="1",
            dropped=tuple(self.dropped),
            redacted={kind: n for kind, n in sorted(self.redactor.counts.items()) if n},
            originals=present(*originals, *self.spoilt),
        )

    def assemble(
        self,
        task: TaskRecord,
        steps: tuple[StepRecord, ...],
        path: str,
        *,
        format_version: str | None = None,
        tool: str | None = None,
        tool_version: str | None = None,
        originals: Iterable[BlobRecord | None] = (),
        evaluations: tuple[EvaluationRecord, ...] = (),
        labels: tuple[LabelRecord, ...] = (),
        adjudications: tuple[AdjudicationRecord, ...] = (),
        **facts: Any,
    ) -> RunBundle:
        """The run with all that belongs to it.

        Args:
            path: the file or folder that it is read from again.
            facts: what else is told of it, under the names of a run's fields.
        """
        if unknown := facts.keys() - RunRecord.model_fields.keys():
            raise TypeError(f"no fields of a run: {', '.join(sorted(unknown))}")
        source = self.source_record(
            path,
            format_version=format_version,
            tool=tool,
            tool_version=tool_version,
            originals=originals,
        )
        told = {"goal": task.goal, "final_url": last_url(steps)} | facts
        run = RunRecord(**told, id=self.run_id, task_id=task.id, source=source)
        said = {"evaluations": evaluations, "labels": labels, "adjudications": adjudications}
        return self.bundle(task, run, steps, **said)

    def bundle(
        self, task: TaskRecord, run: RunRecord, steps: tuple[StepRecord, ...], **said: Any
    ) -> RunBundle:
        """The run, with a gap for everything that its source names and its records lack."""
        found = RunBundle(
            source=self.source, task=task, run=run, steps=steps, blobs=self.stash, **said
        )
        held = {blob.sha256 for blob in found.blob_records()}
        for what, shown in refused():
            self.inventory.miss(what, self.redactor.text(shown), WHY_REFUSED[what])
        gaps = self.inventory.gaps(held)
        return replace(
            found,
            run=run.model_copy(update={"gaps": gaps}),
            problems=(*problems_of(gaps, self.source), *self.problems),
        )


def present(*values: T | None) -> tuple[T, ...]:
    """Those that are there."""
    return tuple(value for value in values if value is not None)


def experiment_above(path: str, otherwise: str = "") -> str | None:
    """The folder that holds the run's own; `otherwise` where the run lies at the top."""
    above = path.rpartition("/")[0].rpartition("/")[2]
    return bounded_name(above or (otherwise if path else "")) or None


_WHY_NO_VERDICT = {
    Outcome.ERROR: "the run ended in an error",
    Outcome.INCOMPLETE: "the run broke off",
    Outcome.UNKNOWN: "the reward is not known",
}


def passed(reward: float | None) -> bool | None:
    """Whether the reward means success; None if it is not known."""
    return None if reward is None else reward > PASSED_ABOVE


def outcome_of(reward: float | None) -> Outcome:
    """What the reward says of the run."""
    if reward is None:
        return Outcome.UNKNOWN
    return Outcome.SUCCESS if passed(reward) else Outcome.FAILURE


def reward_evaluation(run_id: str, end: Ending) -> EvaluationRecord:
    """The benchmark's own verdict; a run that broke off has none, whatever its reward says."""
    why_none = _WHY_NO_VERDICT.get(end.outcome)
    return EvaluationRecord(
        id=bounded_name(f"{run_id}-reward"),
        run_id=run_id,
        evaluator=evaluator("imported-reward", "reward", "1", {"success_above": PASSED_ABOVE}),
        verdict=verdict_of(None if why_none else passed(end.reward)),
        score=end.reward,
        scale=None if why_none else SCALE,
        rationale=why_none,
    )


def point_at(x: Any, y: Any) -> Point | None:
    """The point, where both are numbers."""
    left, top = number(x), number(y)
    return Point(x=left, y=top) if left is not None and top is not None else None


def point_in(arguments: Mapping[str, Any]) -> Point | None:
    """Where a call's arguments say that it was done."""
    both = items(arguments.get("coordinate"))
    return point_at(*both) if len(both) == 2 else point_at(arguments.get("x"), arguments.get("y"))


def box_of(sides: Iterable[Any], scale: float = 1.0) -> Box | None:
    """The box of left, top, width and height, where all four are numbers."""
    found = [number(side) for side in sides]
    known = [side * scale for side in found if side is not None]
    if len(found) != 4 or len(known) != 4:
        return None
    return Box(x=known[0], y=known[1], width=known[2], height=known[3])


def goal_pictures(pictures: Iterable[BlobRecord]) -> tuple[BlobPart, ...]:
    """Pictures as parts of a goal."""
    shown = (picture.model_copy(update={"role": "goal_image"}) for picture in pictures)
    return tuple(BlobPart(blob=picture) for picture in shown)


def verdict_of(passed: bool | None) -> Literal["passed", "failed", "error"]:
    """An evaluation's verdict; an error where there is none that can be read."""
    return "error" if passed is None else "passed" if passed else "failed"


def evaluator(name: str, kind: str, version: str, config: Mapping[str, Any]) -> EvaluatorRecord:
    """An evaluator with its settings: other settings are another evaluator."""
    return EvaluatorRecord.model_validate(
        {"name": name[:100], "kind": kind, "version": version[:100], "config": config}
    )


def settled(labels: Sequence[LabelRecord], rationale: str) -> AdjudicationRecord:
    """What the first of a run's labels says, as the benchmark's settled verdict."""
    first = labels[0]
    return AdjudicationRecord.model_validate(
        {
            "id": bounded_name(f"{first.run_id}-verdict"),
            "run_id": first.run_id,
            "label_ids": tuple(each.id for each in labels),
            "verdict": first.success,
            "rationale": rationale,
            "study": first.study,
            "by": first.annotator,
        }
    )


def dollars(amount: Decimal | None) -> dict[str, Any]:
    """The cost of a run with its currency, as fields of its totals."""
    return {"cost": amount, "currency": None if amount is None else "USD"}


def first_start(steps: Iterable[StepRecord]) -> datetime | None:
    """When the earliest step began, as far as that is known."""
    return min((step.started_at for step in steps if step.started_at), default=None)


def last_end(steps: Iterable[StepRecord]) -> datetime | None:
    """When the latest step ended, as far as that is known."""
    return max((step.ended_at for step in steps if step.ended_at), default=None)


def seconds_between(first: datetime | None, last: datetime | None) -> float | None:
    """The seconds from one moment to the other; None if either is unknown."""
    return (last - first).total_seconds() if first and last else None


def model_names(names: Iterable[str | None]) -> tuple[str, ...]:
    """Each name of a model once, as it can be stored."""
    return tuple(dict.fromkeys(bounded_name(name) for name in names if name))


def task_name_of(goal: str) -> str:
    """A name for a task that nothing names but its words: the same words, the same task."""
    return f"task-{hashlib.sha256(goal.encode('utf-8', 'replace')).hexdigest()[:16]}"


def with_after(steps: list[StepRecord], seen: Observation | None) -> tuple[StepRecord, ...]:
    """The steps, the last one with what was seen when it was over."""
    if not steps:
        return ()
    return (*steps[:-1], steps[-1].model_copy(update={"after": seen}))


def seen_backwards(steps: tuple[StepRecord, ...]) -> Iterator[Observation]:
    """What was seen, from the end of a run to its beginning."""
    both = (seen for step in reversed(steps) for seen in (step.after, step.before))
    return (seen for seen in both if seen is not None)


def last_url(steps: tuple[StepRecord, ...]) -> str | None:
    """Where the run was when it ended, as far as its observations say."""
    return next((seen.url for seen in seen_backwards(steps) if seen.url), None)


def task_set_of(task_name: str, packages: Mapping[str, str]) -> TaskSetRecord:
    """The set that the first word of a task's name stands for: `miniwob.click-test` -> `miniwob`.

    Args:
        task_name: as BrowserGym registers it, without `browsergym/`.
        packages: installed packages and their versions; the set's version is that of
            `browsergym-<set>`, the package that brings its tasks.
    """
    name = task_name.partition(".")[0] or task_name
    return TaskSetRecord(name=name, version=packages.get(f"browsergym-{name}", UNKNOWN))


def read_packages(listing: str) -> dict[str, str]:
    """Versions by package from lines of `name==version`."""
    pairs = (line.strip().partition("==") for line in listing.splitlines())
    return {name: version[:100] for name, equals, version in pairs if equals and name}
