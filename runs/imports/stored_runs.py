"""Which stored run a run that comes in is."""

from __future__ import annotations

from runs.exports.run_bundles import bundle_of
from runs.models import Run
from runs.storage.links import as_uuid
from runs.storage.stubs import run_of_names
from webagent.trajectory.bundles import RunBundle


def stored_run(bundle: RunBundle, content_hash: str) -> Run | None:
    """The run with this content, if it is here.

    One that a dead worker left has no hash in its row: it is known by its id and compared. A stub
    is known by its names, though its trajectory may be here by now.
    """
    # A key is asked for first: of most runs that come in there is none.
    if found := Run.objects.filter(content_hash=content_hash).values_list("pk", flat=True)[:1]:
        return Run.objects.get(pk=found[0])
    if bundle.run.stub:
        return run_of_names(bundle.run.stub)
    own = as_uuid(bundle.run.id)
    unhashed = Run.objects.ended().filter(content_hash=None)
    left = unhashed.filter(pk=own).first() if own else None
    return left if left and bundle_of(left).content_hash == content_hash else None


def is_stored(bundle: RunBundle) -> bool:
    """Whether a run with this content is here."""
    return stored_run(bundle, bundle.content_hash) is not None
