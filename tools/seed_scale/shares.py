"""How often what occurs, drawn from runs that were recorded.

Outcomes, ends, kinds of actions and the length of texts are those of the 81 runs of the shipped
demo and of 99 sample runs of AgentLab, AgentRewardBench, browser-use, Online-Mind2Web, WebArena
and WebVoyager taken together; task sets and sites have the sizes of the published benchmarks.
Steps a run keep the samples' shape (median below 10, a tail to 43 and beyond) with a mean of 15.
Verdicts, labels and disputes are the demo's; agents' names are made up.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from webagent.agents.running import SOURCE_FORMAT

Value = TypeVar("Value")


class Share(Generic[Value]):
    """Values with how often each of them occurs."""

    def __init__(self, shares: Mapping[Value, float]) -> None:
        self.values = list(shares)
        self._bounds = list(itertools.accumulate(shares.values()))

    def draw(self, random: Random, n: int) -> list[Value]:
        """So many values."""
        return random.choices(self.values, cum_weights=self._bounds, k=n)


@dataclass(frozen=True, slots=True)
class SetShape:
    """A benchmark: its tasks, and the sites that they are about."""

    name: str
    n_tasks: int
    sites: Sequence[str]
    source_format: str
    evaluation_kinds: Sequence[str]


_MATCHED = ("string_match", "url_match", "program_html", "string_match", "url_match+program_html")
SETS = (
    SetShape(
        "webarena",
        812,
        ("shopping", "shopping_admin", "gitlab", "reddit", "map", "wikipedia"),
        SOURCE_FORMAT,
        _MATCHED,
    ),
    SetShape("miniwob", 125, ("miniwob",), "agentlab", ("",)),
    SetShape(
        "online-mind2web",
        300,
        tuple(f"site-{number:03}.example" for number in range(136)),
        "online_mind2web",
        ("",),
    ),
)
AGENT_NAMES = ("generic", "planner", "reactive", "browser-use", "vision", "searcher", "oracle")
MODELS = ("model-a-large", "model-a-small", "model-b", "model-c", "open-32b", "open-7b")

RUN_STEPS = Share(
    {1: 4, 2: 12, 3: 10, 5: 13, 8: 12, 12: 12, 20: 13, 30: 17, 43: 6, 109: 1}
)  # mean 15
OUTCOMES = Share({"success": 36, "unknown": 28, "failure": 22, "incomplete": 7, "error": 6})
ENDS: Mapping[str, Share[str]] = {
    "success": Share({"task_ended": 80, "agent_stopped": 20}),
    "failure": Share({"task_ended": 60, "agent_stopped": 30, "agent_gave_up": 10}),
    "unknown": Share({"agent_stopped": 60, "task_ended": 40}),
    "incomplete": Share({"max_steps": 85, "harness_loop_stop": 10, "time_limit": 5}),
    "error": Share({"exception": 90, "killed": 10}),
}
FAULTS = Share(
    {
        "": 40,
        "navigation_timeout": 20,
        "browser_crash": 10,
        "http_5xx": 10,
        "provider_rate_limited": 10,
        "provider_overloaded": 5,
        "worker_lost": 5,
    }
)
SUPERSEDED = 0.02
"""Runs that broke off and were tried again."""
RERUNS = 0.03
QUEUED = 0.001
"""Runs that wait, in experiments that are paused."""
LOOPS, FALSE_COMPLETIONS = 0.12, 0.02
THOUGHT_CHARS = Share({0: 8, 40: 17, 90: 25, 150: 25, 250: 15, 550: 10})
ANSWER_CHARS = Share({0: 40, 4: 30, 40: 20, 400: 10})
STEP_SECONDS = (0.6, 2.0)

EVALUATION_DETAIL_CHARS = 160
RIGHT = {"imported-reward": 0.85, "webarena-strict": 0.8, "webarena-repaired": 0.93, "judge": 0.9}
"""How often an evaluator says what people say."""
NO_VERDICT = 0.02

LARGE_STUDY_SHARE = 0.05
"""Of all runs, in one study that goes on."""
STUDY_RUNS = 300
RUNS_PER_STUDY = 10_000
"""One study of `STUDY_RUNS` runs to so many runs."""
CLOSED_STUDIES = 0.6
ITEM_STATES = Share({"settled": 60, "disputed": 5, "open": 35})
AGREEING = 0.9
"""Of settled items; the others went through a dispute."""
RATIONALE_CHARS = Share({0: 60, 21: 20, 48: 20})
