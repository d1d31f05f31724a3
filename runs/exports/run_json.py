"""One run with its steps as plain JSON: what programs and terminals read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from runs.models import Event, Run, Step


def run_json(run: Run) -> dict[str, Any]:
    """Everything that `manage.py show_run --json` prints; unknown values are null.

    Hashes name blobs, times are ISO 8601 in UTC, `seconds` are durations, `cost` is a string.
    """
    steps = run.steps.order_by("index")
    return {
        "run": str(run.pk),
        "task_set": str(run.task.task_set),
        "task": run.task.external_id,
        "site": run.task.site,
        "goal": run.goal,
        "experiment": run.experiment.name if run.experiment else None,
        "agent": {"name": run.agent.name, "version": run.agent.version or None},
        "models": run.agent.model_names,
        "seed": run.seed,
        "trial": run.trial,
        "attempt": run.attempt,
        "superseded": run.superseded,
        "retry_of": _text(run.retry_of_id),
        "rerun_of": _text(run.rerun_of_id),
        "status": run.status,
        "outcome": run.outcome,
        "end_reason": run.end_reason,
        "reward": run.reward,
        "final_answer": run.final_answer,
        "final_url": run.final_url,
        "error": run.error_message or None,
        "error_origin": run.error_origin or None,
        "started_at": _time(run.started_at),
        "ended_at": _time(run.ended_at),
        "seconds": run.seconds,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost": _text(run.cost),
        "source_format": run.source_format,
        "source": (run.record.get("source") or {}).get("path"),
        "content_hash": run.content_hash,
        "n_steps": run.n_steps,
        "n_screenshots": run.n_screenshots,
        "has_anomaly": run.has_anomaly,
        "events": [_event(event) for event in run.events.all()],
        "gaps": run.record.get("gaps", []),
        "steps": [_step(step) for step in steps],
        "attachments": [
            {
                "step": attachment.step_index,
                "role": attachment.role,
                "name": attachment.name or None,
                "sha256": attachment.blob_id,
            }
            for attachment in run.attachments.order_by("step_index", "pk")
        ],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "index": step.index,
        "branch": step.branch,
        "state": step.state,
        "kind": step.kind or None,
        "action": step.action or None,
        "thought": step.thought or None,
        "url": step.url or None,
        "title": step.title or None,
        "error": step.error or None,
        "reward": step.reward,
        "target": step.target or None,
        "box": step.box,
        "point": step.point,
        "screenshot": step.screenshot_id,
        "marked_screenshot": step.marked_screenshot_id,
        "after_screenshot": step.after_screenshot_id,
        "tree": step.tree_id,
        "after_tree": step.after_tree_id,
        "started_at": _time(step.started_at),
        "ended_at": _time(step.ended_at),
        "seconds": step.seconds,
        "input_tokens": step.input_tokens,
        "output_tokens": step.output_tokens,
        "cost": _text(step.cost),
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "first_step": event.first_step,
        "last_step": event.last_step,
        "detector": event.detector or None,
        "detail": event.detail,
    }


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
