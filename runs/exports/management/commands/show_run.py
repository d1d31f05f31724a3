"""`manage.py show_run ID`: one run with its steps."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.exports.run_json import run_json
from runs.models import Run

THOUGHT_CHARS = 200
HEADINGS = (
    "task",
    "goal",
    "experiment",
    "outcome",
    "end_reason",
    "reward",
    "final_answer",
    "error",
    "started_at",
    "seconds",
    "input_tokens",
    "output_tokens",
    "cost",
    "source",
)


class Command(BaseCommand):
    help = "Print a run with its steps."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="ID")
        parser.add_argument("--json", action="store_true")

    def handle(self, *, run: str, json: bool, **_: Any) -> None:
        shown = run_json(_find(run))
        if json:
            self.stdout.write(_as_json(shown))
        else:
            self._print(shown)

    def _print(self, run: dict[str, Any]) -> None:
        self.stdout.write(self.style.MIGRATE_HEADING(f"Run {run['run']}"))
        agent = " ".join(word for word in (run["agent"]["name"], run["agent"]["version"]) if word)
        self._line("agent", " · ".join([agent, *run["models"]]))
        for name in HEADINGS:
            self._line(name.replace("_", " "), run[name])
        for step in run["steps"]:
            self.stdout.write("")
            seconds = "" if step["seconds"] is None else f"  {step['seconds']:.1f} s"
            self.stdout.write(
                self.style.MIGRATE_LABEL(f"{step['index']:>4}  {step['action'] or '(no action)'}")
                + seconds
            )
            self._line("url", step["url"])
            self._line("thought", _short(step["thought"]))
            self._line("error", _short(step["error"]))

    def _line(self, name: str, value: object) -> None:
        if value not in (None, ""):
            self.stdout.write(f"      {name}: {value}")


def _find(given: str) -> Run:
    try:
        return Run.objects.select_related("task__task_set", "agent", "experiment").get(pk=given)
    except (Run.DoesNotExist, ValidationError):
        raise CommandError(f"there is no run {given}") from None


def _as_json(shown: dict[str, Any]) -> str:
    return json.dumps(shown, ensure_ascii=False, indent=2)


def _short(text: str | None) -> str | None:
    if text is None or len(text) <= THOUGHT_CHARS:
        return text
    return text[: THOUGHT_CHARS - 1] + "…"
