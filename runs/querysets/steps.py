"""Reads of steps."""

from __future__ import annotations

from typing import TypeVar

from django.db import models

StepRow = TypeVar("StepRow", bound=models.Model, covariant=True)


class StepQuerySet(models.QuerySet[StepRow]):
    """Queries over steps. Generic, since the model is defined above this layer."""
