"""Pushed runs and imports as the API tells them to whoever sent them."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from pydantic import BaseModel, Field

from runs.imports.pushing.services import Heard
from runs.models import ImportJob, Run


class PushedRunOut(BaseModel):
    """Where a pushed run stands."""

    id: UUID
    state: Literal["running", "ended"]
    next_step: int = Field(description="The index of the step that is awaited.")
    is_to_cancel: bool = Field(description="Whether somebody here asked the run to stop.")
    lease_seconds: int = Field(description="After so long a silence the run ends as incomplete.")
    page: str = Field(description="The path of its page.")


class RunImported(BaseModel):
    """One run of an import."""

    source: str
    run: UUID


class RunRejected(BaseModel):
    """One run of an import that was not taken; nothing of it is here."""

    source: str
    field: str
    reason: str


class ImportProblem(BaseModel):
    """Something that is missing in a run that was taken, or was left out of it."""

    source: str
    file: str
    field: str
    reason: str


class ImportOut(BaseModel):
    """How far an import is, and what became of its runs."""

    id: UUID
    state: str = Field(description="queued, running, finished, cancelled or failed.")
    n_done: int
    n_total: int | None
    problem: str
    imported: list[RunImported] = Field(description="New here; the first 200.")
    already_there: list[RunImported] = Field(description="Here before; the first 200.")
    rejected: list[RunRejected] = Field(description="Not taken; the first 200.")
    problems: list[ImportProblem] = Field(
        description="Missing in or left out of runs that were taken; the first 200."
    )
    n_problems: int = Field(description="How many problems there are in all.")


def pushed_run_out(run: Run, heard: Heard | None = None) -> PushedRunOut:
    """The run for its own side, as it was read or as the last word left it."""
    return PushedRunOut(
        id=run.pk,
        state="running" if run.is_active else "ended",
        next_step=heard.next_step if heard else run.n_steps,
        is_to_cancel=heard.is_to_cancel if heard else run.cancel_requested_at is not None,
        lease_seconds=settings.ENV.PUSH_LEASE_S,
        page=reverse("runs:run_detail", args=[run.pk]),
    )


def import_out(job: ImportJob) -> ImportOut:
    """An import for whoever sent it."""
    report = job.report or {}
    return ImportOut(
        id=job.pk,
        state=job.state,
        n_done=job.n_done,
        n_total=job.n_total,
        problem=job.problem,
        imported=[RunImported(**run) for run in report.get("imported", ())],
        already_there=[RunImported(**run) for run in report.get("already_there", ())],
        rejected=[RunRejected(**run) for run in report.get("rejected", ())],
        problems=[ImportProblem(**problem) for problem in report.get("problems", ())],
        n_problems=report.get("counts", {}).get("problems", 0),
    )
