"""What tests of faults found, as the newest report of each told it."""

from django.db import models


class FaultCheck(models.Model):
    """One test on one database, as it went the last time."""

    test = models.CharField(max_length=200)
    database = models.CharField(max_length=10)
    failure = models.PositiveSmallIntegerField()
    """Its number in `runs.operations.faults.failures_withstood`."""
    held = models.BooleanField()
    at = models.DateTimeField()
    record = models.JSONField()
    """A `runs.operations.faults.fault_reports.FaultRecord`."""

    class Meta:
        ordering = ["failure", "test", "database"]
        constraints = [
            models.UniqueConstraint(
                fields=["test", "database"], name="fault_check_once_for_test_and_database"
            )
        ]

    def __str__(self) -> str:
        return f"{self.test} on {self.database}"
