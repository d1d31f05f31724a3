"""Experiments and how far they are. Their figures are read beside verdicts."""

from datetime import datetime
from typing import Any

from ninja import Router
from pydantic import BaseModel, Field

from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import filled
from runs.api.paging import Page, Paged, Paging, RowId, known_only, page_of
from runs.api.problems import not_found
from runs.launching.experiments.progress import Progress, progress_of_each
from runs.models import Experiment, Scope

router = Router(tags=["experiments"], auth=Bearer(Scope.RUNS_READ, "runs.view_experiment"))


class Counts(BaseModel):
    """Runs by where they are in the queue, each trial once."""

    total: int
    done: int
    running: int
    queued: int
    cancelled: int
    errors: int = Field(description="Of those done: ended in an error that nobody tries again.")


class ExperimentOut(BaseModel):
    """Runs that belong together."""

    id: int
    name: str
    description: str
    state: str = Field(description="waiting, running, paused, cancelled or finished")
    runs: Counts
    created_at: datetime


class ExperimentPage(Page[ExperimentOut]):
    """Experiments, newest first."""


@router.get("/experiments", response=ExperimentPage, summary="List experiments")
def list_experiments(request: ApiRequest, paging: Paged) -> Any:
    """Experiments whose name you may know, newest first."""
    known_only(request, Paging)
    shown = Experiment.objects.visible_to(request.user).defer("plan")
    rows, following = page_of(shown, paging, "-created_at", "-id")
    found = progress_of_each(rows, request.user)
    return ExperimentPage(items=[_out(progress) for progress in found], next=following)


@router.get("/experiments/{experiment_id}", response=ExperimentOut, summary="Read an experiment")
def read_experiment(request: ApiRequest, experiment_id: RowId) -> Any:
    """One experiment and how far it is."""
    shown = Experiment.objects.visible_to(request.user)
    experiment = shown.filter(pk=experiment_id).first()
    if experiment is None:
        raise not_found("experiment")
    (progress,) = progress_of_each([experiment], request.user)
    return _out(progress)


def _out(progress: Progress) -> ExperimentOut:
    runs = filled(Counts, progress)
    return filled(ExperimentOut, progress.experiment, state=progress.state, runs=runs)
