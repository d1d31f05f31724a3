"""`manage.py show_run ID`: one run with its steps."""

from datetime import datetime
from decimal import Decimal
from json import dumps
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Model

from runs.models import Run, Step

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
            self.stdout.write(dumps(shown, ensure_ascii=False, indent=2))
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


def _short(text: str | None) -> str | None:
    if text is None or len(text) <= THOUGHT_CHARS:
        return text
    return text[: THOUGHT_CHARS - 1] + "…"


def run_json(run: Run) -> dict[str, Any]:
    """Everything that `--json` prints; unknown values are null.

    Hashes name blobs, times are ISO 8601 in UTC, `seconds` are durations, `cost` is a string.
    """
    attachments = run.attachments.order_by("step_index", "pk")
    return {
        "run": str(run.pk),
        "task_set": str(run.task.task_set),
        "task": run.task.external_id,
        "site": run.task.site,
        "goal": run.goal,
        "experiment": run.experiment.name if run.experiment else None,
        "agent": {"name": run.agent.name, "version": run.agent.version or None},
        "models": run.agent.model_names,
        **_columns(run, "seed", "trial", "attempt", "superseded"),
        "retry_of": _spelled(run.retry_of_id),
        "rerun_of": _spelled(run.rerun_of_id),
        **_columns(run, "status", "outcome", "end_reason", "reward", "final_answer", "final_url"),
        "error": run.error_message or None,
        "error_origin": run.error_origin or None,
        **_columns(run, "started_at", "ended_at", "seconds"),
        **_columns(run, "input_tokens", "output_tokens", "cost", "source_format"),
        "source": (run.record.get("source") or {}).get("path"),
        **_columns(run, "content_hash", "n_steps", "n_screenshots", "has_anomaly"),
        "events": [
            _columns(event, "kind", "first_step", "last_step")
            | {"detector": event.detector or None, "detail": event.detail}
            for event in run.events.all()
        ],
        "gaps": run.record.get("gaps", []),
        "steps": [_step(step) for step in run.steps.order_by("index")],
        "attachments": [
            {
                "step": attachment.step_index,
                "role": attachment.role,
                "name": attachment.name or None,
                "sha256": attachment.blob_id,
            }
            for attachment in attachments
        ],
    }


def _step(step: Step) -> dict[str, Any]:
    texts = ("kind", "action", "thought", "url", "title", "error")
    return {
        **_columns(step, "index", "branch", "state"),
        **{name: getattr(step, name) or None for name in texts},
        "reward": step.reward,
        "target": step.target or None,
        **_columns(step, "box", "point"),
        "screenshot": step.screenshot_id,
        "marked_screenshot": step.marked_screenshot_id,
        "after_screenshot": step.after_screenshot_id,
        "tree": step.tree_id,
        "after_tree": step.after_tree_id,
        **_columns(step, "started_at", "ended_at", "seconds"),
        **_columns(step, "input_tokens", "output_tokens", "cost"),
    }


def _columns(row: Model, *names: str) -> dict[str, Any]:
    return {name: _spelled(getattr(row, name)) for name in names}


def _spelled(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | UUID) else value
