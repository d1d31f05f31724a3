"""How much an experiment may hold, asked before anything is stored or queued."""

from __future__ import annotations

from django.db import transaction
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from runs.models import Experiment, Run, RunStatus
from runs.storage.usage import bytes_of, spaces_of


class QuotaError(Exception):
    """The experiment has no room; the message says to people how much it holds and may hold."""


def demand_room(experiment: Experiment | None, *, n_runs: int, n_bytes: int = 0) -> None:
    """Do nothing if so much more may come.

    Inside a transaction the experiment is held from here to its end, so of several that would
    each fit only so many get through as fit together. Without a quota nothing is held or counted.

    Raises:
        QuotaError: it would hold more than it may.
    """
    if experiment is None or (experiment.max_runs is None and experiment.max_bytes is None):
        return
    rows = Experiment.objects.all()
    if transaction.get_connection().in_atomic_block:
        rows = rows.select_for_update(no_key=True)
    held = rows.get(pk=experiment.pk)
    runs = Run.objects.filter(experiment=held)
    if held.max_runs is not None and (there := runs.count()) + n_runs > held.max_runs:
        raise QuotaError(
            _("The experiment %(name)s holds %(n)d runs and may hold %(max)d.")
            % {"name": held.name, "n": there, "max": held.max_runs}
        )
    if held.max_bytes is None:
        return
    under_way = list(runs.filter(status=RunStatus.RUNNING).values_list("pk", flat=True))
    used = bytes_of(runs) + sum(space.total for space in spaces_of(under_way))
    if used + n_bytes > held.max_bytes or (not n_bytes and used >= held.max_bytes):
        raise QuotaError(
            _("The files of experiment %(name)s take %(n)s and may take %(max)s; these %(more)s.")
            % {
                "name": held.name,
                "n": filesizeformat(used),
                "max": filesizeformat(held.max_bytes),
                "more": filesizeformat(n_bytes),
            }
        )
