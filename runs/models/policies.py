"""Retry policies: versioned rows that never change, and their document in the engine's form."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import connections, models
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext, gettext_noop

from runs.models.parsing import read_number
from webagent.recovery.retry_policy import (
    WORTH_RETRYING,
    AnomalyResponse,
    Comparison,
    Infrastructure,
    PolicyBody,
    RecoveryPolicy,
    RerunRule,
    RerunWhen,
)
from webagent.trajectory.records import Json


class RetryPolicyQuerySet(models.QuerySet["RetryPolicy"]):
    def latest_versions(self) -> Self:
        """The last version of each, by name."""
        later = self.model._default_manager.filter(
            name=OuterRef("name"), version__gt=OuterRef("version")
        )
        return self.filter(~Exists(later)).order_by("name")

    def named(self, words: str) -> RetryPolicy | None:
        """`NAME@VERSION`, or the last version of `NAME`; None if there is none.

        A name that holds an @ itself is found by its whole name first.
        """
        whole = self.filter(name=words).order_by("-version").first()
        if whole is not None:
            return whole
        name, _, version = words.rpartition("@")
        number = read_number(version)
        if not name or number is None:
            return None
        return self.filter(name=name.strip(), version=number).first()


class RetryPolicy(models.Model):
    """What is done about runs that break, get stuck or fail; one version of it.

    A row never changes: the database refuses it, see `runs.models.triggers`. An edit is the
    next version. `body` is a `webagent.recovery.retry_policy.PolicyBody`.
    """

    name = models.CharField("name", max_length=100)
    version = models.PositiveIntegerField(default=1)
    description = models.TextField("description", blank=True)
    body = models.JSONField()
    body_hash = models.CharField(max_length=64)
    """SHA-256 of the canonical body: equal for policies that do the same."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = RetryPolicyQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        verbose_name = "retry policy"
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="one_policy_version")
        ]

    def __str__(self) -> str:
        return f"{self.name} @{self.version}"

    @property
    def title(self) -> str:
        """Its name, in the reader's language where it came with the installation."""
        return gettext(self.name) if self.name in READY else self.name

    @property
    def label(self) -> str:
        """Title and version."""
        return f"{self.title} @{self.version}"

    @property
    def summary(self) -> str:
        """Its description, likewise."""
        is_ready = self.name in READY and self.description == READY[self.name][0]
        return gettext(self.description) if is_ready else self.description


def body_of(policy: RetryPolicy) -> PolicyBody:
    """What the row says, checked. Rows are written by `save_policy` alone, so it fits."""
    recovery = policy.body.get("recovery")
    if recovery and "compare" not in recovery:
        # Saved before that was a choice, when pages were always compared.
        recovery = {**recovery, "compare": Comparison.ACTIONS_AND_PAGE}
    return PolicyBody.model_validate({**policy.body, "recovery": recovery})


def policy_record(policy: RetryPolicy) -> Json:
    """The policy for the `extra` of a run that it held for, whole: it can be read elsewhere."""
    return {
        "name": policy.name,
        "version": policy.version,
        "hash": policy.body_hash,
        "body": policy.body,
    }


def known_policy(extra: Json | None) -> RetryPolicy | None:
    """The policy that a record's `extra` tells of, if this installation has the very same one."""
    told = (extra or {}).get("retry_policy")
    if not isinstance(told, dict):
        return None
    name, said = told.get("name"), told.get("hash")
    if not isinstance(name, str) or not isinstance(said, str):
        return None
    return RetryPolicy.objects.filter(name=name, body_hash=said).order_by("-version").first()


READY: dict[str, tuple[str, PolicyBody]] = {
    gettext_noop("Recover as in the study"): (
        gettext_noop(
            "Loops and false completion are noticed and undone with the numbers of the Preferred "
            "Networks study of retries (2026). Name the agent that takes over in a version of "
            "your own."
        ),
        PolicyBody(recovery=RecoveryPolicy()),
    ),
    gettext_noop("Stop when looping"): (
        gettext_noop(
            "A run that goes round in circles ends, which saves the steps that it had left."
        ),
        PolicyBody(
            recovery=RecoveryPolicy(
                on_loop=AnomalyResponse.STOP, on_false_completion=AnomalyResponse.STOP
            )
        ),
    ),
    gettext_noop("Only infrastructure"): (
        gettext_noop("Runs that the infrastructure breaks are tried again; agents are left alone."),
        PolicyBody(infrastructure=Infrastructure(faults=WORTH_RETRYING)),
    ),
    gettext_noop("Rerun what failed"): (
        gettext_noop(
            "Failures by the reference verdict are run again, and so is what failed for reasons "
            "that were not the agent's."
        ),
        PolicyBody(
            reruns=(
                RerunRule(when=RerunWhen.BROKE, at_most=1),
                RerunRule(when=RerunWhen.MARKED, subject="environment", at_most=1),
                RerunRule(when=RerunWhen.FAILED_REFERENCE, at_most=2, new_seed=True),
            )
        ),
    ),
}
"""Policies that every installation has from the start: description and body, by name."""


def add_ready_policies(*, using: str = "default", **_: object) -> None:
    """Make those that are missing, after every `migrate`. One that is there stays as it is."""
    tables = connections[using].introspection.table_names()
    if RetryPolicy._meta.db_table not in tables:
        return  # migrated back to before they existed
    rows = RetryPolicy.objects.using(using)
    known = set(rows.filter(name__in=READY).values_list("name", flat=True))
    rows.bulk_create(
        [
            RetryPolicy(
                name=name, description=description, body=body.to_json(), body_hash=body.content_hash
            )
            for name, (description, body) in READY.items()
            if name not in known
        ],
        ignore_conflicts=True,
    )
