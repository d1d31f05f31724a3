"""What a row says, as the record that imports of runs store: label, verdict or adjudication."""

from collections.abc import Collection, Iterable
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import Field, StringConstraints, ValidationError

from judging.models import EvaluatorVersion
from judging.portability.judgements.columns import (
    ADJUDICATION,
    CONTENT_HASH,
    KIND,
    KINDS,
    LABEL,
    NUMBERS,
    OF_ADJUDICATION,
    OF_LABEL,
    RUN_ID,
    RUN_PATHS,
    SHORT,
    VERDICT,
)
from judging.portability.judgements.stub_runs import StubRuns
from runs.models import Run
from runs.storage.records import MAX_INT
from webagent.trajectory.bundles import spellings
from webagent.trajectory.intake import InputError
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import Money, first_field_error
from webagent.trajectory.verdict_records import (
    AdjudicationRecord,
    EvaluationRecord,
    EvaluatorRecord,
    LabelRecord,
)

IMPORTED = "imported"
"""Version of evaluators whose row gives none."""
AMBIGUOUS = ("0", "1", "2")
VISIBLE = r"^\P{C}+$"
"""Without what a terminal obeys and what turns the order of letters round."""
Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=150, pattern=VISIBLE)]
ShortName = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=100, pattern=VISIBLE)
]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Label(LabelRecord):
    annotator: Name
    confidence: Annotated[int, Field(ge=0, le=100)] | None = None
    failure_step: Annotated[int, Field(ge=0, le=MAX_INT)] | None = None
    seconds: Amount | None = None


class _Evaluator(EvaluatorRecord):
    name: ShortName
    kind: ShortName
    version: ShortName


class _Verdict(EvaluationRecord):
    evaluator: _Evaluator
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None
    cost: Annotated[Money, Field(ge=0, lt=10**8)] | None = None


class _Adjudication(AdjudicationRecord):
    by: Name | None = None


def record_of(
    values: dict[str, Any], run: Run, study: str
) -> LabelRecord | EvaluationRecord | AdjudicationRecord:
    """The row as a record of this run and study.

    Raises:
        InputError: a value is missing or does not fit.
    """
    kind = _kind(values)
    said = {SHORT.get(name, name): value for name, value in values.items()}
    said |= {"run_id": str(run.pk), "study": study}
    if isinstance(word := said.get("verdict"), str):
        said["verdict"] = word.strip().lower()
    try:
        if kind == LABEL:
            return _label(said)
        return _adjudication(said) if kind == ADJUDICATION else _verdict(said)
    except ValidationError as error:
        field, reason = first_field_error(error)
        if VISIBLE in reason:
            reason = "holds invisible or incomplete characters"
        short = {"success": "verdict", "failure_types": "causes"}.get(field, field)
        if short == "verdict" and str(values.get("verdict")).strip() in AMBIGUOUS:
            reason += "; files disagree on what numbers mean, so write the word"
        raise InputError(field if field in values else short, reason) from error


def _kind(values: dict[str, Any]) -> str:
    guess = VERDICT if "evaluator" in values else LABEL if "annotator" in values else ""
    if "label_ids" in values:
        guess = ADJUDICATION
    kind = str(values.get(KIND, guess)).strip()
    if kind not in KINDS:
        raise InputError(KIND, f"is none of {', '.join(KINDS)}")
    return kind


def _label(said: dict[str, Any]) -> LabelRecord:
    said.setdefault("success", said.get("verdict"))
    said.setdefault("id", bounded_name(f"{said['run_id']}-{said.get('annotator')}"))
    return _Label.model_validate(_only(said, OF_LABEL - {"verdict"}))


def _adjudication(said: dict[str, Any]) -> AdjudicationRecord:
    said.setdefault("label_ids", ())
    said.setdefault("id", bounded_name(f"{said['run_id']}-verdict"))
    return _Adjudication.model_validate(_only(said, OF_ADJUDICATION))


def _verdict(said: dict[str, Any]) -> EvaluationRecord:
    named = said.get("evaluator")
    if not isinstance(named, dict):
        said["evaluator"] = {
            "name": named,
            "version": said.get("version", IMPORTED),
            "kind": said.get("evaluator_kind", EvaluatorVersion.Kind.JUDGE.value),
            **_configured(said),
        }
    beside = said.get("extra", {})
    if "seconds" in said and isinstance(beside, dict):
        said["extra"] = beside | {"seconds": _seconds(said["seconds"])}
    said.setdefault("id", bounded_name(f"{said['run_id']}-{named}"))
    # What the evaluator was told or said lies in a file that a table does not carry.
    return _Verdict.model_validate(_only(said, set(EvaluationRecord.model_fields) - {"raw"}))


def _configured(said: dict[str, Any]) -> dict[str, Any]:
    """The evaluator's configuration, as a table of ours has it; else that it is not known."""
    if "config_hash" in said:
        config = said.get("config")
        return {"config_hash": said["config_hash"]} | ({"config": config} if config else {})
    model = said.get("judge_model")
    return {"config": {"imported_from": "labels"} | ({"model": model} if model else {})}


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError("seconds", "Input should be a valid number")
    return seconds


def _only(said: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name in fields}


LARGE = ("record", "evidence", "final_answer", "task__record", "task__reference")
"""What rows have no need of, and can be long."""
NO_RUN = "there is no such run here"
OWN = ", or it is one that you are to judge yourself"
OWN_TASK = "you are to judge a run of this task yourself; name the run by run_id"


class RunsNamed:
    """The runs that rows name, found for many rows at once.

    Args:
        hidden: runs on which whoever sent the rows is blind. None is found, and no answer
            depends on what one of them is, or on who acted in it.
        stubs: makes runs that are not here; None where rows of such runs are refused.
    """

    def __init__(self, hidden: Collection[UUID] = (), stubs: StubRuns | None = None) -> None:
        self._hidden = hidden
        self._stubs = stubs
        self._by_id: dict[UUID, Run] = {}
        self._by_hash: dict[str, Run] = {}

    def load(self, rows: Iterable[dict[str, Any]]) -> list[UUID]:
        """Look up the runs that these rows name by id or hash; of earlier rows none is kept."""
        rows = list(rows)
        ids = {key for values in rows if (key := _key(values.get(RUN_ID)))}
        hashes = {str(values[CONTENT_HASH]).strip() for values in rows if CONTENT_HASH in values}
        found = [*_runs().filter(pk__among=ids)] if ids else []
        self._by_id = {run.pk: run for run in found}
        found = [*_runs().filter(content_hash__in=hashes).order_by("-pk")] if hashes else []
        self._by_hash = {run.content_hash: run for run in found if run.content_hash}
        return [run.pk for run in (*self._by_id.values(), *self._by_hash.values())]

    def of(self, values: dict[str, Any]) -> Run:
        """The one run that the row speaks of; one of those that were looked up.

        Raises:
            InputError: there is none, or more than one.
        """
        named = [name for name in (CONTENT_HASH, RUN_ID) if name in values]
        for name in named:
            run = self._named(name, values[name])
            if run and run.pk not in self._hidden:
                return run
        if named:
            raise InputError(named[-1], NO_RUN + (OWN if self._hidden else ""))
        return self._fitting(values)

    def _named(self, name: str, value: Any) -> Run | None:
        if name == CONTENT_HASH:
            return self._by_hash.get(str(value).strip())
        key = _key(value)
        return self._by_id.get(key) if key else None

    def _fitting(self, values: dict[str, Any]) -> Run:
        wanted = {
            RUN_PATHS[name]: _word(name, values[name]) for name in RUN_PATHS if name in values
        }
        if RUN_PATHS["task"] not in wanted:
            raise InputError(RUN_ID, "is missing, and so are content_hash and task")
        of_task: dict[str, Any] = {
            path: word for path, word in wanted.items() if path.startswith("task__")
        }
        if "task_set" in values:
            words = (str(values[name]).strip() for name in ("task_set", "task"))
            del of_task[RUN_PATHS["task"]]
            of_task[f"{RUN_PATHS['task']}__in"] = spellings(*words)
        if self._hidden and Run.objects.filter(pk__among=self._hidden, **of_task).exists():
            raise InputError("task", OWN_TASK)
        fitting = list(_runs().filter(**wanted, superseded=False)[:2])
        if len(fitting) == 1:
            return fitting[0]
        if self._stubs and (found := self._stubs.of(values, may_make=not fitting)):
            if found in self._hidden:
                raise InputError("task", OWN_TASK)
            return _runs().get(pk=found)
        if fitting:
            missing = ", ".join(name for name in RUN_PATHS if name not in values)
            raise InputError("task", f"several runs fit; tell them apart by run_id, {missing}")
        raise InputError(
            "task",
            "no run here fits what the row says of task, agent, seed and trial; an option of the"
            " import takes verdicts of runs that are not here",
        )


def _runs() -> QuerySet[Run]:
    return Run.objects.select_related("task").defer(*LARGE)


def _key(value: Any) -> UUID | None:
    try:
        return UUID(str(value).strip())
    except ValueError:
        return None


def _word(name: str, value: Any) -> str | int:
    text = str(value).strip()
    if name not in NUMBERS:
        return text
    if len(text) > 18 or not text.removeprefix("-").isdecimal():
        raise InputError(name, "Input should be a valid integer")
    return int(text)
