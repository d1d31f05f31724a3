"""Workers' signs of life, and the database's clock, by which alone leases are measured."""

from datetime import timedelta

from django.db import models
from django.db.models import DateTimeField, ExpressionWrapper, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Now


class WorkerBeat(models.Model):
    """One worker, the queues it serves, and when it last said that it is well."""

    name = models.CharField(max_length=200, primary_key=True)
    queues = models.JSONField(default=list)
    slots = models.PositiveSmallIntegerField(default=1)
    """How many tasks it does at a time."""
    busy = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How many it did then."""
    room_since = models.DateTimeField(null=True)
    """Since when it could have done another one; None where that is not known, or it could not."""
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


def from_now(seconds: float) -> Combinable:
    """The database's time in so many seconds (negative: ago)."""
    return ExpressionWrapper(
        Now() + Value(timedelta(seconds=seconds)), output_field=DateTimeField()
    )
