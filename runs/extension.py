"""What the app above adds to runs: one object, registered when the site starts.

Runs know nothing of studies, labels and evaluators. Whatever they need of them, from who is blinded
to a run to the verdicts in an export, they ask of a hook that is filled here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runs.launching.policies.judged import Judgements, judgements_hook
from runs.models.hooks import LinkedPage, addresses_hook
from runs.models.visibility import RunPolicy, policy_hook
from runs.operations.integrity.checking import invariants_hook
from runs.operations.integrity.contract import Invariant
from runs.operations.retention.deletion_guards import Reason, reasons_hook
from runs.storage.verdicts import VerdictStore, verdict_store
from runs.viewer.run_list.orders import RunListExtension, run_list_hook


class Extension(Protocol):
    """Everything that the app above answers for."""

    @property
    def policy(self) -> RunPolicy:
        """Who may see what of a run."""
        ...

    @property
    def verdicts(self) -> VerdictStore:
        """Verdicts of runs that are imported or exported."""
        ...

    @property
    def run_list(self) -> RunListExtension:
        """Columns and filters of the runs table."""
        ...

    @property
    def judgements(self) -> Judgements:
        """Verdicts that retry policies ask for, and the studies that gather runs."""
        ...

    def address(self, page: LinkedPage, *args: object) -> str:
        """Where a page lies to which pages of runs link."""
        ...

    def deletion_reasons(self) -> Sequence[Reason]:
        """Why runs may not be archived and deleted."""
        ...

    def invariants(self) -> Sequence[Invariant]:
        """What holds of the app's rows at any moment."""
        ...


def register(extension: Extension) -> None:
    """Have the object answer from now on."""
    addresses_hook.use(extension.address)
    policy_hook.use(extension.policy)
    verdict_store.use(extension.verdicts)
    run_list_hook.use(extension.run_list)
    judgements_hook.use(extension.judgements)
    reasons_hook.use(extension.deletion_reasons)
    invariants_hook.use(extension.invariants)
