"""People's annotations as labels, and judges' verdicts as evaluations.

The benchmark has a rule of its own for which label counts; each judge answers in its own grammar.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from webagent.trajectory.bundles import UNKNOWN
from webagent.trajectory.files.assembling import SCALE, evaluator, passed, settled, verdict_of
from webagent.trajectory.files.trees import Tree, head_of
from webagent.trajectory.records import BlobRecord
from webagent.trajectory.texts import bounded_name, storable_text
from webagent.trajectory.values import (
    cost,
    items,
    mapping,
    moment,
    not_empty,
    not_none,
    number,
    text,
    total,
)
from webagent.trajectory.verdict_records import (
    AdjudicationRecord,
    EvaluationRecord,
    EvaluatorRecord,
    LabelRecord,
)

Word = Literal["success", "failure", "unsure", "not_executable"]

REFUSAL = "_error"
"""Ends the names of judgments that failed."""
ANNOTATIONS = "annotations.csv"
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
NEEDED = ("annotator_name", "benchmark", "task_id", "model_name", "trajectory_success")
_SUCCESS: dict[str, Word] = {"successful": "success", "unsuccessful": "failure", "unsure": "unsure"}


@dataclass(frozen=True)
class Annotation:
    """One row, verbatim, with its line in the file."""

    line: int
    row: dict[str, str]

    @property
    def is_whole(self) -> bool:
        """Whether it has all that a label needs."""
        return all(self.row.get(key, "").strip() for key in NEEDED)

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
    head = head_of(tree, name, 10_000).decode("utf-8-sig", "replace").partition("\n")[0]
    return set(NEEDED) <= {word.strip() for word in head.split(",")}


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
        side_effect=_yes_no(row.get("trajectory_side_effect")),
        optimality=optimality(row.get("trajectory_optimality")),
        looping=_yes_no(row.get("trajectory_looping")),
        study=STUDY,
        protocol=PROTOCOL,
        raw={key: storable_text(value, 1_000) for key, value in row.items()},
    )


def primary_verdict(labels: tuple[LabelRecord, ...]) -> AdjudicationRecord | None:
    """What the first label in the file says; None where it is unsure."""
    is_sure = bool(labels) and labels[0].success != "unsure"
    return settled(labels, PRIMARY) if is_sure else None


def optimality(words: str | None) -> int | str | None:
    """1 to 4 from `4. Completely Optimal`, or `unsure`."""
    word = _word(words or "")
    if word[:1] in ("1", "2", "3", "4"):
        return int(word[0])
    return word if word == "unsure" else None


def _yes_no(words: str | None) -> str | None:
    word = _word(words or "")
    return word if word in ("yes", "no", "unsure") else None


def _word(words: str) -> str:
    """In small letters, without what stands around it."""
    return words.strip().strip("\"'.").strip().lower()


BY_RULE = "functional"
IMPORTED = "imported"
"""In place of a version, which the benchmark does not give its judges."""
_GOOD_REWARD = 4
"""Of NNetNav's five points."""
_OPTIMALITY_OF_REWARD = {1: 1, 2: 1, 3: 2, 4: 3, 5: 4}

_TAG = re.compile(r"<(reasoning|success|side|optimal|loop)>(.*?)(?:</\1>|$)", re.DOTALL)
# Bounded, since what a file calls an answer may be anything of any length.
_STATUS = re.compile(
    r"^[^\w\n]{0,9}Status\W{0,9}:\W{0,9}(success|failure|unsuccessful|successful)", re.I | re.M
)
_THOUGHTS = re.compile(r"Thoughts\W{0,9}:", re.IGNORECASE)
_REWARD = re.compile(r"Reward\W{0,9}:\W{0,9}([1-5])\b", re.IGNORECASE)
_PASSED, _FAILED = (
    ("successful", "success", "yes", "true"),
    ("unsuccessful", "failure", "no", "false"),
)


@dataclass(frozen=True, kw_only=True)
class JudgeAnswer:
    """What a judge's answer says. `success` None: it cannot be read, or says `n/a`."""

    success: bool | None = None
    reasoning: str | None = None
    side_effect: str | None = None
    optimality: int | str | None = None
    looping: str | None = None


def read_answer(words: str) -> JudgeAnswer:
    """The answer in tags, as `Status: success`, or as `Reward: 1..5`."""
    tags = {name: value.strip() for name, value in _TAG.findall(words)}
    if "success" in tags:
        return JudgeAnswer(
            success=_success(tags["success"]),
            reasoning=tags.get("reasoning") or None,
            side_effect=_yes_no(tags.get("side")),
            optimality=optimality(tags.get("optimal")),
            looping=_yes_no(tags.get("loop")),
        )
    if status := _STATUS.search(words):
        thoughts = _THOUGHTS.search(words, 0, status.start())
        reasoning = words[thoughts.end() : status.start()].strip() if thoughts else None
        return JudgeAnswer(success=_success(status[1]), reasoning=reasoning or None)
    if reward := _REWARD.search(words):
        points = int(reward[1])
        return JudgeAnswer(
            success=points >= _GOOD_REWARD,
            reasoning=words[: reward.start()].strip() or None,
            optimality=_OPTIMALITY_OF_REWARD[points],
        )
    return JudgeAnswer()


def evaluation(
    judgment: dict[str, Any], run_id: str, raw: BlobRecord, place: str
) -> EvaluationRecord:
    """One judge's verdict.

    Args:
        judgment: its file without secrets; anything, where the judge failed.
        place: its path, of which the judge's folder is part.
    """
    folder = place.rpartition("/")[0].rpartition("/")[2]
    judge = bounded_name(text(judgment.get("judge")) or folder or UNKNOWN)
    if judge == BY_RULE:
        return _by_rule(judgment, run_id, raw)
    response = mapping(judgment.get("response"))
    choice = mapping(next(iter(items(response.get("choices"))), None))
    answer = text(mapping(choice.get("message")).get("content")) or ""
    said = read_answer(answer)
    details = {key: getattr(said, key) for key in ("side_effect", "optimality", "looping")}
    # The sum in the file counts cached tokens as if they were money.
    prices = mapping(judgment.get("cost"))
    price = total(number(prices.get(key)) for key in ("input_price", "output_price"))
    return EvaluationRecord(
        id=bounded_name(f"{run_id}-{judge}{'-refused' * is_refused(place)}"),
        run_id=run_id,
        evaluator=_evaluator(judge, judgment),
        verdict=verdict_of(said.success),
        rationale=said.reasoning or (answer[:10_000] or _why_none(judgment)),
        raw=raw,
        cost=cost(price),
        at=moment(response.get("created")),
        extra={"details": not_none(details)},
    )


def _by_rule(judgment: dict[str, Any], run_id: str, raw: BlobRecord) -> EvaluationRecord:
    """The benchmark's reward, cut at one half."""
    info = mapping(judgment.get("trajectory_info"))
    reward = number(mapping(info.get("summary_info")).get("cum_reward"))
    return EvaluationRecord(
        id=bounded_name(f"{run_id}-{BY_RULE}"),
        run_id=run_id,
        evaluator=EvaluatorRecord(
            name=f"AgentRewardBench {BY_RULE}", kind="reward", version=IMPORTED
        ),
        verdict=verdict_of(passed(reward)),
        score=reward,
        scale=SCALE,
        raw=raw,
    )


def _evaluator(judge: str, judgment: dict[str, Any]) -> EvaluatorRecord:
    """The judge with its model and settings."""
    keys = ("provider", "judge_args", "completion_args")
    config = not_empty({key: judgment.get(key) for key in keys})
    model = text(judgment.get("judge_model_name"))
    config |= {"imported_from": "agentrewardbench"} | ({"model": model} if model else {})
    return evaluator(f"AgentRewardBench {judge}", "judge", IMPORTED, config)


def _why_none(judgment: dict[str, Any]) -> str:
    said = text(judgment.get("error")) or text(mapping(judgment.get("error")).get("message"))
    return storable_text(said or "the judge gave no answer", 10_000)


def _success(words: str) -> bool | None:
    word = _word(words)
    return True if word in _PASSED else False if word in _FAILED else None


def is_refused(name: str) -> bool:
    """Whether a judgment's file says that the judge's provider refused."""
    return name.endswith(f"{REFUSAL}.json")
