"""What is kept of a run's source reads again as the same run, in every format."""

from __future__ import annotations

import pytest

from tests.webagent.trajectory.formats import DATA
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.originals import KeptTree
from webagent.trajectory.reading import open_runs, source_of

FORMATS = (
    *("webarena_native", "playwright_trace", "webarena_verified", "atif", "inspect_ai"),
    *("computer_use", "webvoyager"),
)


@pytest.mark.parametrize("name", FORMATS)
def test_the_original_reads_as_the_same_run(name):
    with open_runs(DATA / name) as source:
        bundles = [item for item in source if isinstance(item, RunBundle)]
        assert bundles
        for bundle in bundles:
            kept = KeptTree(bundle)
            if kept.names == ("output/26/network.har",):
                continue  # a network trace alone is nobody's: nothing beside it says what it is
            with source_of(kept, format=bundle.run.source.format) as again:
                [read] = [item for item in again if isinstance(item, RunBundle)]
            assert read.content_hash == bundle.content_hash
            assert [e.verdict for e in read.evaluations] == [e.verdict for e in bundle.evaluations]
