"""The header of a table of labels: which columns there are, and how a cell spells a value.

Names are those of the native format's records, with shorter words for some.
"""

from __future__ import annotations

import json
from typing import Any

from runs.interface.spreadsheets import escape_formula
from webagent.trajectory.records import AdjudicationRecord, EvaluationRecord, LabelRecord

RUN = {
    "task_set": "task__task_set__name",
    "task_set_version": "task__task_set__version",
    "task": "task__external_id",
    "agent": "agent__name",
    "agent_version": "agent__version",
    "model": "agent__model",
    "seed": "seed",
    "trial": "trial",
}
"""Columns that find a run where neither of those below is given, and what they look at."""
RUN_ID, CONTENT_HASH = "run_id", "content_hash"
NUMBERS = {"seed", "trial"}

KIND = "kind"
LABEL, VERDICT, ADJUDICATION = KINDS = ("label", "verdict", "adjudication")
SHORT = {"causes": "failure_types", "created_at": "at"}
"""Other words for fields of the records."""

OF_LABEL = {*LabelRecord.model_fields, "verdict"}
OF_ADJUDICATION = set(AdjudicationRecord.model_fields)
OF_EVALUATOR = {"version", "evaluator_kind", "judge_model", "config_hash", "config"}
OF_VERDICT = {*EvaluationRecord.model_fields, *OF_EVALUATOR, "seconds"}
FOLLOWING = {"is_repeat", "is_current", "is_authoritative", "origin", "reason"}
"""Columns that exports have for those who count by them; they follow from what else is there."""
KNOWN = {
    KIND,
    RUN_ID,
    CONTENT_HASH,
    *RUN,
    *SHORT,
    *OF_LABEL,
    *OF_ADJUDICATION,
    *OF_VERDICT,
    *FOLLOWING,
}

LISTS = {"causes", "failure_types"}
"""Columns whose cells are words between semicolons, or a JSON array."""
AS_JSON = {"comments", "raw", "extra", "checks", "label_ids", "config"}
BETWEEN = ";"


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


def cell_of_value(name: str, value: Any) -> str:
    """The cell that `value_of_cell` turns into this value again."""
    if value is None:
        return ""
    if name in LISTS or name in AS_JSON:
        return json.dumps(value, ensure_ascii=False)
    text = str(value)
    return f"'{text}" if text.startswith("'") else escape_formula(text)


def _bare(cell: str) -> str:
    if not cell.startswith("'"):
        return cell
    rest = cell[1:]
    return rest if rest.startswith("'") or escape_formula(rest) != rest else cell
