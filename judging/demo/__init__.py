"""The demo: runs that our own agents made in a real browser, and two people's labels of them."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

RUNS_FILE = Path(__file__).parent / "runs.zip"
PLAN_FILE = Path(__file__).parent / "plan.json"
TASK_PATCH_FILE = Path(__file__).parent / "larkfield-1.json"
MILESTONES_FILE = Path(__file__).parent / "milestones.json"


NAME = "Demo: four sites of a small town"
DESCRIPTION = (
    "Demo data. Scripted agents answered questions and did errands in a library, a shop, a forum"
    " and on a map of our own: to the point, in whole sentences, and carelessly. The times of"
    " labels are estimated from steps and words."
)
EXPERIMENT = "Demo: Larkfield"
"""Of the study's runs."""
ASKING = ("before", "after", "two-stage-judge")
"""Evaluators that ask a model; the demo's own stand-in answers them."""

GUIDELINES = """\
**Success** means that the task is done when the run ends: what was asked for is on the page, or
in the agent's answer, and nothing was done that nobody asked for.

- An answer counts if a reader would accept it. It may be a whole sentence.
- An answer that names the right thing among wrong ones is a **failure**.
- Saying that something is done is not doing it. Look at the last picture.
- **Not executable**: the page was broken, or the task cannot be done by anybody.
- **Unsure** is a fair answer. It leads to a discussion.
"""


class DemoError(Exception):
    """The demo cannot be loaded; nothing of it is left half-done but imported runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run of the study: how it is made, and what people say of it, where they do.

    `tags` is where an auditor says why evaluators are wrong.
    """

    task: str
    agent: str = "resident"
    style: str = ""
    max_steps: int | None = None
    crash_after: int | None = None
    labels: dict[str, dict[str, Any]] = field(default_factory=dict)
    decision: dict[str, str] = field(default_factory=dict)
    tags: tuple[dict[str, Any], ...] = ()
    teaches: str = ""
    """`hints` or `knowledge`, where they are written from it."""

    @property
    def name(self) -> str:
        """The task's whole name."""
        return f"larkfield.{self.task}"

    @property
    def config(self) -> dict[str, JsonValue]:
        """The agent's configuration."""
        return {"style": self.style} if self.style else {}

    def label_of(self, person: str) -> dict[str, Any] | None:
        """What this annotator says; `both` stands for the same words of both."""
        return self.labels.get(person) or self.labels.get("both")


def read_plan() -> list[Entry]:
    """The study's runs, in the order in which they are recorded."""
    return [Entry(**entry) for entry in json.loads(PLAN_FILE.read_text(encoding="utf-8"))]
