"""What seeded runs are made of: the steps and pictures of the shipped demo."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from django.db import transaction

from judging.demo import RUNS_FILE
from runs.models import Step
from runs.storage.blobs import BlobBatch, import_bounds
from runs.storage.records import step_row
from tools.seed_scale import shares
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.reading import open_runs

RUNS_READ = 20
"""Of the demo's runs, so many give their steps and pictures."""
VARIANTS = 8
"""Steps that are made of each recorded one; they differ in how long the thought is."""
_NOBODY = UUID(int=0)
STEP_COLUMNS = (
    "kind",
    "action",
    "thought",
    "url",
    "title",
    "target",
    "box",
    "point",
    "screenshot",
    "tree",
    "seconds",
    "input_tokens",
    "output_tokens",
    "record",
)


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows of steps, without run and index, and texts."""

    steps: list[tuple[Any, ...]]
    """In the order of `STEP_COLUMNS`."""
    sentences: list[str]
    goals: list[str]

    def text(self, random: Random, chars: int) -> str:
        """Recorded sentences, so many characters of them."""
        if not chars:
            return ""
        words = " ".join(random.choices(self.sentences, k=1 + chars // 20))
        return words[:chars]


def read_pool(random: Random) -> Pool:
    """The pool, with its pictures in the blob store."""
    steps: list[Step] = []
    goals: list[str] = []
    blobs = BlobBatch()
    with open_runs(RUNS_FILE, bounds=import_bounds(), label=RUNS_FILE.name) as source:
        for bundle in itertools.islice(source, RUNS_READ):
            if not isinstance(bundle, RunBundle):
                continue
            for record in bundle.blob_records():
                blobs.add(bundle.read_blob(record.sha256), record.media_type)
            steps += (step_row(_NOBODY, step) for step in bundle.steps)
            goals += (part.text for part in bundle.run.goal or () if hasattr(part, "text"))
    with transaction.atomic():
        blobs.save()
    sentences = sorted({step.thought for step in steps if step.thought})
    pool = Pool([], sentences, sorted(set(goals)))
    pool.steps.extend(_variants(pool, steps, random))
    return pool


def _variants(pool: Pool, steps: list[Step], random: Random) -> Iterator[tuple[Any, ...]]:
    for step in itertools.chain.from_iterable(itertools.repeat(steps, VARIANTS)):
        (chars,) = shares.THOUGHT_CHARS.draw(random, 1)
        yield (
            step.kind,
            step.action,
            pool.text(random, chars),
            step.url,
            step.title,
            step.target,
            json.dumps(step.box),
            json.dumps(step.point),
            step.screenshot_id,
            step.tree_id,
            round(random.uniform(*shares.STEP_SECONDS), 3),
            random.randint(800, 6000),
            random.randint(20, 400),
            json.dumps({"actions": step.record.get("actions", [])}),
        )
