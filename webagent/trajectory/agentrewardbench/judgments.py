"""Judges' verdicts as evaluations, each judge's answer read in its own grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.agentrewardbench.annotations import optimality
from webagent.trajectory.agentrewardbench.layout import is_refused
from webagent.trajectory.assembling import PASSED_ABOVE
from webagent.trajectory.records import BlobRecord, EvaluationRecord, EvaluatorRecord, Json
from webagent.trajectory.texts import bounded_name, storable_text
from webagent.trajectory.values import cost, items, mapping, moment, number, text

BY_RULE = "functional"
UNKNOWN = "unknown"
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
            side_effect=_plain(tags.get("side")),
            optimality=optimality(tags.get("optimal")),
            looping=_plain(tags.get("loop")),
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
    judge = bounded_name(text(judgment.get("judge")) or _folder(place) or UNKNOWN)
    if judge == BY_RULE:
        return _by_rule(judgment, run_id, raw)
    response = mapping(judgment.get("response"))
    choice = mapping(next(iter(items(response.get("choices"))), None))
    answer = text(mapping(choice.get("message")).get("content")) or ""
    said = read_answer(answer)
    details = {
        "side_effect": said.side_effect,
        "optimality": said.optimality,
        "looping": said.looping,
    }
    price = _price(judgment)
    return EvaluationRecord(
        id=bounded_name(f"{run_id}-{judge}{'-refused' * is_refused(place)}"),
        run_id=run_id,
        evaluator=_evaluator(judge, judgment),
        verdict="error" if said.success is None else "passed" if said.success else "failed",
        rationale=said.reasoning or (answer[:10_000] or _why_none(judgment)),
        raw=raw,
        cost=cost(price),
        at=moment(response.get("created")),
        extra={"details": {k: v for k, v in details.items() if v is not None}},
    )


def _by_rule(judgment: dict[str, Any], run_id: str, raw: BlobRecord) -> EvaluationRecord:
    """The benchmark's reward, cut at one half."""
    info = mapping(judgment.get("trajectory_info"))
    reward = number(mapping(info.get("summary_info")).get("cum_reward"))
    passed = reward is not None and reward > PASSED_ABOVE
    return EvaluationRecord(
        id=bounded_name(f"{run_id}-{BY_RULE}"),
        run_id=run_id,
        evaluator=EvaluatorRecord(
            name=f"AgentRewardBench {BY_RULE}", kind="reward", version=IMPORTED
        ),
        verdict="error" if reward is None else "passed" if passed else "failed",
        score=reward,
        scale=f"passed above {PASSED_ABOVE}",
        raw=raw,
    )


def _evaluator(judge: str, judgment: dict[str, Any]) -> EvaluatorRecord:
    """The judge with its model and settings: other settings are another evaluator."""
    config: Json = {
        key: judgment[key]
        for key in ("provider", "judge_args", "completion_args")
        if judgment.get(key)
    }
    model = text(judgment.get("judge_model_name"))
    config |= {"imported_from": "agentrewardbench"} | ({"model": model} if model else {})
    return EvaluatorRecord.model_validate(
        {
            "name": f"AgentRewardBench {judge}"[:100],
            "kind": "judge",
            "version": IMPORTED,
            "config": config,
        }
    )


def _price(judgment: dict[str, Any]) -> float | None:
    """Input and output; the sum in the file counts cached tokens as if they were money."""
    prices = mapping(judgment.get("cost"))
    parts = [number(prices.get(key)) for key in ("input_price", "output_price")]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _why_none(judgment: dict[str, Any]) -> str:
    said = text(judgment.get("error")) or text(mapping(judgment.get("error")).get("message"))
    return storable_text(said or "the judge gave no answer", 10_000)


def _folder(place: str) -> str:
    return place.rpartition("/")[0].rpartition("/")[2]


def _success(words: str) -> bool | None:
    word = words.strip().strip("\"'.").lower()
    return True if word in _PASSED else False if word in _FAILED else None


def _plain(words: str | None) -> str | None:
    word = (words or "").strip().strip("\"'.").lower()
    return word if word in ("yes", "no", "unsure") else None
