"""Runs made up for tests of the format itself."""

import io
import struct
import zlib
from datetime import UTC, datetime
from decimal import Decimal

from PIL import Image

from webagent.trajectory.blobs import BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.records import (
    ActionRecord,
    AgentRecord,
    BlobPart,
    BlobRecord,
    EndReason,
    EventRecord,
    Gap,
    LlmCall,
    Observation,
    Outcome,
    Point,
    RunRecord,
    SourceRecord,
    StepRecord,
    TaskRecord,
    TaskSetRecord,
    TextPart,
    Totals,
)
from webagent.trajectory.verdict_records import (
    AdjudicationRecord,
    CheckRecord,
    EvaluationRecord,
    EvaluatorRecord,
    LabelComment,
    LabelRecord,
)


def png(width: int = 40, height: int = 20, shade: int = 0) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (shade, 0, 0)).save(out, "PNG")
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG with its check sum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(pixels: bytes, width: int = 64, height: int = 48) -> bytes:
    """A PNG whose frame and check sums are right, whatever its pixel data are."""
    header = chunk(b"IHDR", struct.pack(">II5B", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def picture(stash: BlobStash, shade: int) -> BlobRecord:
    content = png(shade=shade)
    return BlobRecord(
        sha256=stash.add_bytes(content),
        media_type="image/png",
        bytes=len(content),
        role="screenshot",
        width=40,
        height=20,
    )


def words(stash: BlobStash, text: str, role: str) -> BlobRecord:
    content = text.encode()
    sha256 = stash.add_bytes(content)
    return BlobRecord(sha256=sha256, media_type="text/plain", bytes=len(content), role=role)


def run_bundle(number: int = 0, n_steps: int = 3) -> RunBundle:
    """A run with something in nearly every field."""
    stash = BlobStash()
    run_id = f"run-{number}"
    task = TaskRecord(
        id=f"task-{number}",
        task_set=TaskSetRecord(name="shop", version="1"),
        external_id=f"shop.{number}",
        goal=(TextPart(text="Buy “it” 🙂"), BlobPart(blob=picture(stash, 99))),
        eval={"eval_types": ["string_match"], "reference_answers": {"exact_match": "SECRET-REF"}},
        reference="SECRET-REF",
        extra={"note": None, "whole": 2.0},
    )
    steps = tuple(
        StepRecord(
            run_id=run_id,
            index=index,
            source_index=index,
            before=Observation(
                url="http://127.0.0.1/",
                screenshot=picture(stash, 10 * number + index),
                a11y_tree=words(stash, f"tree {number} {index}", "a11y_tree"),
            ),
            thought=f"thought {index}",
            actions=(
                ActionRecord(
                    raw="click('1')",
                    dialect="browsergym",
                    name="click",
                    args=("1",),
                    point=Point(x=1.5, y=2),
                    status="ok",
                ),
            ),
            reward=0.125,
            terminated=index == n_steps - 1,
            llm_calls=(LlmCall(model="SECRET-MODEL", input_tokens=3, cost=Decimal("0.10")),),
            metrics={"nested": [1, 2.5, None]},
        )
        for index in range(n_steps)
    )
    run = RunRecord(
        id=run_id,
        task_id=task.id,
        source=SourceRecord(format="made-up", path="SECRET-PATH"),
        agent=AgentRecord(name="SECRET-AGENT", config={"temperature": 0.0, "none": None}),
        models=("SECRET-MODEL",),
        experiment="SECRET-EXPERIMENT",
        seed=7,
        started_at=datetime(2026, 11, 21, 3, 4, 5, 600, tzinfo=UTC),
        outcome=Outcome.SUCCESS,
        end_reason=EndReason.TASK_ENDED,
        reward=0.125,
        claimed_success=True,
        final_answer="24.90",
        totals=Totals(input_tokens=9, cost=Decimal("0.0300"), currency="USD"),
        events=(EventRecord(kind="loop", first_step=0, last_step=n_steps - 1, detail={"by": "x"}),),
        artefacts=(words(stash, '{"cum_reward": 0.125}', "artefact"),),
        gaps=(Gap(what="step", where="step_9", why="missing"),),
        extra={"kept": [True]},
    )
    evaluation = EvaluationRecord(
        id=f"evaluation-{number}",
        run_id=run_id,
        evaluator=EvaluatorRecord(name="imported-reward", kind="reward", version="1"),
        verdict="passed",
        score=0.125,
        checks=(CheckRecord(name="answer", verdict="passed", expected="SECRET-REF"),),
    )
    labels = tuple(
        LabelRecord(
            id=f"label-{number}-{who}",
            run_id=run_id,
            annotator=who,
            success=verdict,
            comments=(LabelComment(text="SECRET-COMMENT", step=1),),
        )
        for who, verdict in (("ann", "success"), ("bob", "failure"))
    )
    adjudication = AdjudicationRecord(
        id=f"adjudication-{number}",
        run_id=run_id,
        label_ids=tuple(label.id for label in labels),
        verdict="success",
        rationale="SECRET-RATIONALE",
    )
    return RunBundle(
        source=run_id,
        task=task,
        run=run,
        steps=steps,
        evaluations=(evaluation,),
        labels=labels,
        adjudications=(adjudication,),
        blobs=stash,
    )
