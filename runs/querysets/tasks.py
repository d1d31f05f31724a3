"""Reads of tasks."""

from __future__ import annotations

from typing import TypeVar

from django.db import models

TaskRow = TypeVar("TaskRow", bound=models.Model, covariant=True)


class TaskQuerySet(models.QuerySet[TaskRow]):
    """Queries over tasks. Generic, since the model is defined above this layer."""
