"""Columns of the tables that are taken away: name, type, and what stands there."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple


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


def _text(name: str, meaning: str) -> DataColumn:
    return DataColumn(name, Type.TEXT, meaning)


def _whole(name: str, meaning: str) -> DataColumn:
    return DataColumn(name, Type.WHOLE, meaning)


def _number(name: str, meaning: str) -> DataColumn:
    return DataColumn(name, Type.NUMBER, meaning)


def _yes_no(name: str, meaning: str) -> DataColumn:
    return DataColumn(name, Type.YES_NO, meaning)


def _time(name: str, meaning: str) -> DataColumn:
    return DataColumn(name, Type.TIME, meaning)


def _json(name: str, meaning: str) -> DataColumn:
    return DataColumn(name, Type.JSON, meaning)


RUN: Sequence[DataColumn] = (
    _text("run_id", "the run"),
    _text("content_hash", "the run by its content, the same in every installation"),
    _text("task_set", "name of the task set"),
    _text("task_set_version", "version of the task set"),
    _text("task", "id of the task in its set"),
    _text("agent", "name of the agent"),
    _text("model", "model of the agent"),
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
    DataColumn("causes", Type.WORDS, "causes of failure, by key"),
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
    _json("extra", "milestones ticked (`milestones`) and what else belongs to it"),
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
    DataColumn("label_ids", Type.WORDS, "labels it rests on"),
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
    DataColumn("cost", Type.MONEY, "US dollars"),
    _number("seconds", "time it took"),
    _time("at", "when it was evaluated"),
    _text("id", "the evaluation"),
    _json("extra", "details by kind of evaluator"),
)
RUNS: Sequence[DataColumn] = (
    *RUN,
    _text("site", "site of the task"),
    _text("agent_version", "version of the agent"),
    _text("experiment", "name of the experiment"),
    _whole("attempt", "number of the attempt at the trial, from 1"),
    _yes_no("superseded", "whether a later attempt took its place"),
    _text("outcome", "what the benchmark or the harness said"),
    _text("end_reason", "why it stopped"),
    _number("reward", "the benchmark's reward"),
    _text("final_answer", "what the agent answered"),
    _whole("steps", "number of steps"),
    _whole("input_tokens", "tokens that its models read"),
    _whole("output_tokens", "tokens that its models wrote"),
    DataColumn("cost", Type.MONEY, "US dollars"),
    _number("seconds", "time it took"),
    _time("started_at", "when it began"),
    _time("ended_at", "when it ended"),
    _text("source_format", "format it came in"),
)
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
)
