"""People's annotations as labels, and the benchmark's own rule for which of them counts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from webagent.trajectory.records import AdjudicationRecord, LabelRecord
from webagent.trajectory.texts import bounded_name, storable_text
from webagent.trajectory.trees import READ_ERRORS, Tree, TreeError

Word = Literal["success", "failure", "unsure", "not_executable"]

STUDY = "AgentRewardBench annotations"
PROTOCOL = "agentrewardbench"
PRIMARY = "The label of the first annotator: the one that AgentRewardBench counts."

HEADER = (
    "annotator_name",
    "benchmark",
    "task_id",
    "model_name",
    "exp_name",
    "trajectory_success",
    "trajectory_side_effect",
    "trajectory_optimality",
    "trajectory_looping",
)
_NEEDED = ("annotator_name", "benchmark", "task_id", "model_name", "trajectory_success")
_SUCCESS: dict[str, Word] = {
    "successful": "success",
    "unsuccessful": "failure",
    "unsure": "unsure",
}
_YES_NO = ("yes", "no", "unsure")


@dataclass(frozen=True)
class Annotation:
    """One row, verbatim, with its line in the file."""

    line: int
    row: dict[str, str]

    @property
    def is_whole(self) -> bool:
        """Whether it has all that a label needs."""
        return all(self.row.get(key, "").strip() for key in _NEEDED)

    @property
    def annotator(self) -> str:
        """The name as a person; the file has one with a leading space."""
        return self.row["annotator_name"].strip()

    @property
    def success(self) -> Word | None:
        """What was said of the outcome; None if it is none of the words."""
        return _SUCCESS.get(_word(self.row["trajectory_success"]))


def is_annotations(tree: Tree, name: str) -> bool:
    """Whether a CSV file's first line is that of annotations."""
    try:
        with tree.open(name) as stream:
            head = stream.readline(10_000).decode("utf-8-sig", "replace")
    except (TreeError, *READ_ERRORS):
        return False
    return set(_NEEDED) <= {word.strip() for word in head.split(",")}


def read_annotations(content: str) -> Iterator[Annotation]:
    """Every row, blank ones aside."""
    reader = csv.DictReader(io.StringIO(content))
    for row in reader:
        clean = {str(key).strip(): value for key, value in row.items() if isinstance(value, str)}
        if any(value.strip() for value in clean.values()):
            yield Annotation(reader.line_num, clean)


def written(annotations: list[Annotation]) -> str:
    """The rows as a file again, with the benchmark's header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, HEADER, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(annotation.row for annotation in annotations)
    return out.getvalue()


def label(annotation: Annotation, run_id: str) -> LabelRecord | None:
    """The row as a label; None if nobody can tell what it says of the outcome."""
    if annotation.success is None:
        return None
    row = annotation.row
    return LabelRecord(
        id=bounded_name(f"{run_id}-{annotation.annotator}"),
        run_id=run_id,
        annotator=bounded_name(f"{annotation.annotator}@{PROTOCOL}"),
        success=annotation.success,
        side_effect=_one_of(row.get("trajectory_side_effect"), _YES_NO),
        optimality=optimality(row.get("trajectory_optimality")),
        looping=_one_of(row.get("trajectory_looping"), _YES_NO),
        study=STUDY,
        protocol=PROTOCOL,
        raw={key: storable_text(value, 1_000) for key, value in row.items()},
    )


def primary_verdict(labels: tuple[LabelRecord, ...], run_id: str) -> AdjudicationRecord | None:
    """What the first label in the file says; None where it is unsure."""
    if not labels or labels[0].success == "unsure":
        return None
    first = labels[0]
    return AdjudicationRecord(
        id=bounded_name(f"{run_id}-verdict"),
        run_id=run_id,
        label_ids=tuple(each.id for each in labels),
        verdict="success" if first.success == "success" else "failure",
        rationale=PRIMARY,
        study=STUDY,
        by=first.annotator,
    )


def optimality(words: str | None) -> int | str | None:
    """1 to 4 from `4. Completely Optimal`, or `unsure`."""
    word = _word(words or "")
    if word[:1] in ("1", "2", "3", "4"):
        return int(word[0])
    return _one_of(word, ("unsure",))


def _one_of(words: str | None, known: tuple[str, ...]) -> str | None:
    word = _word(words or "")
    return word if word in known else None


def _word(words: str) -> str:
    return words.strip().strip("\"'").strip().lower()
