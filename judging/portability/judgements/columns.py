"""Columns of tables of labels and verdicts: name, type, meaning, and how a cell spells it."""

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from runs.interface.words import escape_formula
from webagent.trajectory.verdict_records import AdjudicationRecord, EvaluationRecord, LabelRecord


class Type(StrEnum):
    """What a column holds; how each format spells it stands in docs/exporting.md."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    MONEY = "money"
    YES_NO = "yes or no"
    TIME = "time"
    WORDS = "list of words"
    JSON = "JSON"


class DataColumn(NamedTuple):
    """`meaning` is for the documentation."""

    name: str
    type: Type
    meaning: str
    path: str = ""
    """Where a run holds it, if not under this name."""


def _column(type: Type, name: str, meaning: str, path: str = "") -> DataColumn:
    return DataColumn(name, type, meaning, path or name)


_text = partial(_column, Type.TEXT)
_whole = partial(_column, Type.WHOLE)
_number = partial(_column, Type.NUMBER)
_money = partial(_column, Type.MONEY)
_yes_no = partial(_column, Type.YES_NO)
_time = partial(_column, Type.TIME)
_words = partial(_column, Type.WORDS)
_json = partial(_column, Type.JSON)

RUN: Sequence[DataColumn] = (
    _text("run_id", "the run", "pk"),
    _text("content_hash", "the run by its content, the same in every installation"),
    _text("task_set", "name of the task set", "task.task_set.name"),
    _text("task_set_version", "version of the task set", "task.task_set.version"),
    _text("task", "id of the task in its set", "task.external_id"),
    _text("agent", "name of the agent", "agent.name"),
    _text("model", "model of the agent", "agent.model"),
    _whole("seed", "seed of the run"),
    _whole("trial", "number of the trial, from 1"),
)
"""Every row of labels and verdicts says so which run it speaks of."""

LABELS: Sequence[DataColumn] = (
    _text("kind", "`label`"),
    *RUN,
    _text("study", "name of the study"),
    _text("annotator", "who labelled"),
    _yes_no("is_repeat", "whether it is a hidden second look, which counts in no agreement"),
    _text("verdict", "`success`, `failure`, `unsure`, `not_executable`"),
    _whole("confidence", "0 to 100"),
    _words("causes", "causes of failure, by key"),
    _whole("failure_step", "step at which it went wrong, from 0"),
    _text("rationale", "why, in the annotator's words"),
    _number("seconds", "time with the run open"),
    _time("at", "when it was submitted"),
    _text("side_effect", "as it was imported"),
    _text("optimality", "as it was imported"),
    _text("looping", "as it was imported"),
    _json("comments", "remarks on steps: `text`, `step`, `at`"),
    _whole("guideline_version", "version of the guidelines in force"),
    _text("protocol", "as it was imported"),
    _text("id", "the label"),
    _json("raw", "as it was imported"),
    _json(
        "extra",
        "milestones ticked (`milestones`), what was on screen (`seen`) and what else belongs to it",
    ),
)
REFERENCE_VERDICTS: Sequence[DataColumn] = (
    _text("kind", "`adjudication`"),
    *RUN,
    _text("study", "name of the study that settled it"),
    _text("verdict", "`success`, `failure`, `not_executable`"),
    _text("origin", "`agreed`, `consensus`, `adjudicated`, `imported`"),
    _yes_no("is_authoritative", "whether it is the run's one verdict; of several studies' one is"),
    _text("by", "who decided; empty where the labels agreed"),
    _text("rationale", "why, in the adjudicator's words"),
    _time("at", "when it was decided"),
    _words("label_ids", "labels it rests on"),
    _text("id", "the verdict"),
    _json("extra", "how it came about (`origin`), and what else belongs to it"),
)
EVALUATIONS: Sequence[DataColumn] = (
    _text("kind", "`verdict`"),
    *RUN,
    _text("evaluator", "name of the evaluator"),
    _text("version", "its version"),
    _text("evaluator_kind", "its kind, such as `matcher`, `judge`, `pipeline`"),
    _text("judge_model", "the language model that it asks"),
    _text("config_hash", "the evaluator with its whole configuration"),
    _json("config", "its configuration"),
    _text("verdict", "`passed`, `failed`, `error` (no verdict), `not_applicable`"),
    _yes_no("is_current", "whether it is the evaluator's newest on the run, which alone counts"),
    _number("score", "as the evaluator gave it"),
    _text("scale", "what its score is measured on"),
    _text("reason", "why there is no verdict"),
    _text("rationale", "why, in the evaluator's words"),
    _json("checks", "each check with expected and actual value, and whether it passed"),
    _money("cost", "US dollars"),
    _number("seconds", "time it took"),
    _time("at", "when it was evaluated"),
    _text("id", "the evaluation"),
    _json("extra", "details by kind of evaluator"),
)
RUNS: Sequence[DataColumn] = (
    *RUN,
    _text("site", "site of the task", "task.site"),
    _text("agent_version", "version of the agent", "agent.version"),
    _text("experiment", "name of the experiment", "experiment.name"),
    _whole("attempt", "number of the attempt at the trial, from 1"),
    _yes_no("superseded", "whether a later attempt took its place"),
    _text("outcome", "what the benchmark or the harness said"),
    _text("end_reason", "why it stopped"),
    _number("reward", "the benchmark's reward"),
    _text("final_answer", "what the agent answered"),
    _whole("steps", "number of steps", "n_steps"),
    _whole("input_tokens", "tokens that its models read"),
    _whole("output_tokens", "tokens that its models wrote"),
    _money("cost", "US dollars"),
    _number("seconds", "time it took"),
    _time("started_at", "when it began"),
    _time("ended_at", "when it ended"),
    _text("source_format", "format it came in"),
)
MAYBE = {column.name for column in RUNS if column.type is Type.TEXT} - {
    *("task_set", "agent", "final_answer")
}
"""Columns of runs that are unknown where they are empty."""
MATRICES: Sequence[DataColumn] = (
    _text("evaluator", "name of the evaluator"),
    _text("version", "its version, and what is switched otherwise"),
    _whole("runs", "N: runs with a reference verdict of success or failure"),
    _whole("tp", "successes that it passed"),
    _whole("fn", "successes that it did not pass"),
    _whole("tn", "failures that it did not pass"),
    _whole("fp", "failures that it passed"),
    _whole("no_verdict", "runs without a verdict of it"),
    _number("coverage", "share of runs with a verdict of it"),
    _text("no_verdict_because", "reasons, with how many runs each"),
    _text("little_coverage", "whether it has a verdict on fewer than 80 % of the runs"),
)
FIGURES: Sequence[DataColumn] = (
    _text("evaluator", "name of the evaluator"),
    _text("version", "its version, and what is switched otherwise"),
    _text("figure", "key of the figure, such as `fn_share`"),
    _text("formula", "how it is computed from the cells"),
    _number("value", "the figure"),
    _number("low", "lower end of its interval, 95 %"),
    _number("high", "upper end"),
    _text("method", "how the interval was found"),
    _number("by_task_low", "lower end with runs of one task taken together"),
    _number("by_task_high", "upper end so"),
    _whole("count", "numerator"),
    _whole("total", "denominator"),
    _text("undefined_because", "why there is no figure"),
    _text("no_verdict", "`left-out`: figures are over the runs with a verdict"),
    _text("little_coverage", "whether it has a verdict on fewer than 80 % of the runs"),
)


RUN_ID, CONTENT_HASH = "run_id", "content_hash"
EXPERIMENT = "experiment"
_FINDING = ("task_set", "task_set_version", "task", "agent", "agent_version", "model", EXPERIMENT)
RUN_COLUMN_PATHS = {column.name: column.path.replace(".", "__") for column in RUNS}
RUN_PATHS = {name: RUN_COLUMN_PATHS[name] for name in (*_FINDING, "seed", "trial")}
"""Columns that find a run where neither id nor hash is given, and what they look at."""
NUMBERS = {"seed", "trial"}

KIND = "kind"
LABEL, VERDICT, ADJUDICATION = KINDS = ("label", "verdict", "adjudication")
SHORT = {"causes": "failure_types", "created_at": "at"}
"""Other words for fields of the records."""

OF_LABEL = {*LabelRecord.model_fields, "verdict"}
OF_ADJUDICATION = set(AdjudicationRecord.model_fields)
_EXPORTED = (*LABELS, *REFERENCE_VERDICTS, *EVALUATIONS)
KNOWN = {
    *(column.name for column in _EXPORTED),
    *RUN_PATHS,
    *SHORT,
    *OF_LABEL,
    *OF_ADJUDICATION,
    *EvaluationRecord.model_fields,
}

LISTS = {"causes", "failure_types"}
"""Columns whose cells are words between semicolons, or a JSON array."""
AS_JSON = {column.name for column in _EXPORTED if column.type is Type.JSON} | {"label_ids"}
BETWEEN = ";"
_JSON_CELL = json.JSONEncoder(ensure_ascii=False).encode


def value_of_cell(name: str, cell: str) -> Any:
    """What a cell of a CSV file means; an apostrophe that makes it text to spreadsheets goes.

    Raises:
        ValueError: it should be JSON, and is not.
    """
    text = _bare(cell)
    if name in AS_JSON or (name in LISTS and text.lstrip().startswith("[")):
        return json.loads(text)
    if name in LISTS:
        return [word.strip() for word in text.split(BETWEEN) if word.strip()]
    if name == "optimality" and text.strip().isdecimal() and len(text) < 5:
        return int(text)
    return text


def _bare(cell: str) -> str:
    if not cell.startswith("'"):
        return cell
    rest = cell[1:]
    return rest if rest.startswith("'") or escape_formula(rest) != rest else cell


def cell_of_value(name: str, value: Any) -> str:
    """The cell that `value_of_cell` turns into this value again."""
    if value is None:
        return ""
    if name in LISTS or name in AS_JSON:
        return _JSON_CELL(value)
    text = str(value)
    return f"'{text}" if text.startswith("'") else escape_formula(text)


def speller(column: DataColumn) -> Callable[[Any], str]:
    """How the column's cells spell a value."""
    if column.type is Type.YES_NO:
        return lambda value: "true" if value else "false"
    if column.type in (Type.JSON, Type.WORDS):
        return _JSON_CELL
    if column.type in (Type.WHOLE, Type.NUMBER, Type.MONEY):
        return str
    return partial(_spelled, column.name)


def _spelled(name: str, value: Any) -> str:
    """A text as its cell; most begin so that no spreadsheet takes them for a formula."""
    first = value[:1] if isinstance(value, str) else ""
    return value if first.isalnum() and first.isascii() else cell_of_value(name, value)
