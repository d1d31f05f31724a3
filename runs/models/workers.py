"""Signs of life of the processes that work in the background."""

from django.db import models


class WorkerBeat(models.Model):
    """One worker process, and when it last said that it is well."""

    name = models.CharField(max_length=200, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
