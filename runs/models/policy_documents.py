"""Retry policies between their rows and the engine's document."""

from __future__ import annotations

from django.db import connections

from runs.models import RetryPolicy
from webagent.recovery.policy import Answer, RecoveryPolicy
from webagent.recovery.retry_policy import (
    WORTH_RETRYING,
    Infrastructure,
    PolicyBody,
    RerunRule,
    RerunWhen,
)
from webagent.trajectory.records import Json


def body_of(policy: RetryPolicy) -> PolicyBody:
    """What the row says, checked. Rows are written by `save_policy` alone, so it fits."""
    return PolicyBody.model_validate(policy.body)


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
    "Recover as in the study": (
        "Loops and false completion are noticed and undone with the numbers of the Preferred "
        "Networks study of retries (2026). Name the agent that takes over in a version of "
        "your own.",
        PolicyBody(recovery=RecoveryPolicy()),
    ),
    "Stop when looping": (
        "A run that goes round in circles ends, which saves the steps that it had left.",
        PolicyBody(recovery=RecoveryPolicy(on_loop=Answer.STOP, on_false_completion=Answer.STOP)),
    ),
    "Only infrastructure": (
        "Runs that the infrastructure breaks are tried again; agents are left alone.",
        PolicyBody(infrastructure=Infrastructure(faults=WORTH_RETRYING)),
    ),
    "Rerun what failed": (
        "Failures by the reference verdict are run again, and so is what failed for reasons "
        "that were not the agent's.",
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
                name=name,
                description=description,
                body=body.to_json(),
                body_hash=body.content_hash,
            )
            for name, (description, body) in READY.items()
            if name not in known
        ],
        ignore_conflicts=True,
    )
