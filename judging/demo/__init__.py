"""The demo: runs that our own agents made in a real browser, and two people's labels of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS_FILE = Path(__file__).parent / "runs.zip"
PLAN_FILE = Path(__file__).parent / "plan.json"
TASK_PATCH_FILE = Path(__file__).parent / "larkfield-1.json"
MILESTONES_FILE = Path(__file__).parent / "milestones.json"


@dataclass(frozen=True, slots=True)
class DemoStudy:
    """What a demo study is called, what it shows, and which judges say something there."""

    name: str
    description: str
    asking: tuple[str, ...]
    """Evaluators that ask a model; the demo's own stand-in answers them."""


STUDIES = {
    "questions": DemoStudy(
        "Demo: questions about a library",
        "Demo data. A scripted agent answered questions on a small site of our own, in three"
        " ways: to the point, in a sentence, and carelessly. The strict matcher misses right"
        " answers here, and lets wrong ones pass; repaired matcher and patched tasks put that"
        " right. Where a language model would judge, a stub of fixed rules answered.",
        asking=("before", "after", "two-stage-judge"),
    ),
    "clicks": DemoStudy(
        "Demo: clicks and forms",
        "Demo data. Scripted agents on MiniWoB++ pages: some solve the task, some click wrongly,"
        " go round in circles, or stop too early.",
        asking=("before", "after"),
    ),
}

GUIDELINES = """\
**Success** means that the task is done when the run ends: what was asked for is on the page, or
in the agent's answer, and nothing was done that nobody asked for.

- An answer counts if a reader would accept it. It may be a whole sentence.
- An answer that names the right thing among wrong ones is a **failure**.
- Saying that something is done is not doing it. Look at the last picture.
- **Not executable**: the page was broken, or the task cannot be done by anybody.
- **Unsure** is a fair answer. It leads to a discussion.
"""


def read_plan() -> list[dict[str, Any]]:
    """One entry a run: task, agent, config, seed, experiment; labels where people gave any, and
    tags where an auditor says why evaluators are wrong.
    """
    plan: list[dict[str, Any]] = json.loads(PLAN_FILE.read_text(encoding="utf-8"))
    return plan
