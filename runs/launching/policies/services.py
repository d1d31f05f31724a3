"""Saving retry policies: every edit is the next version."""

from contextlib import suppress

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from runs.accounts.audit_log import record_entry
from runs.models import RetryPolicy, User
from runs.models.audit_log import POLICY_SAVED
from runs.models.policies import body_of
from webagent.recovery.retry_policy import PolicyBody

TRIES = 3


class PolicyError(Exception):
    """It cannot be saved; the message says to the user why, and what to do."""


def save_policy(
    *, name: str, body: PolicyBody, description: str = "", user: User | None = None, is_new: bool
) -> RetryPolicy:
    """The version that says this: the last one if it says so already, else the next.

    Raises:
        PolicyError: `is_new`, and the name is taken by another policy.
    """
    name, description = name.strip(), description.strip()
    for _try in range(TRIES - 1):
        with suppress(IntegrityError):  # somebody saved the same version in this very moment
            return _save(name, body, description, user, is_new=is_new)
    return _save(name, body, description, user, is_new=is_new)


@transaction.atomic
def _save(
    name: str, body: PolicyBody, description: str, user: User | None, *, is_new: bool
) -> RetryPolicy:
    versions = RetryPolicy.objects.filter(name=name)
    last = versions.order_by("-version").first()
    if last is not None and (body_of(last), last.description) == (body, description):
        return last
    if last is not None and is_new:
        raise PolicyError(_("This name is taken."))
    newest = versions.aggregate(newest=Max("version"))["newest"] or 0
    policy = RetryPolicy.objects.create(
        name=name,
        version=newest + 1,
        description=description,
        body=body.to_json(),
        body_hash=body.content_hash,
        created_by=user,
    )
    record_entry(
        POLICY_SAVED,
        about=policy,
        words=name,
        before=f"version {newest}" if newest else "",
        after=f"version {policy.version}",
        user=user,
    )
    return policy
