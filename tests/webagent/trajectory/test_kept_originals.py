"""What is kept of a run's source reads again as the same run, in every format."""

import pytest

from tests.webagent.trajectory.formats import DATA
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.originals import KeptTree
from webagent.trajectory.reading import AUTO, open_runs, source_of

FORMATS = (
    *("webarena_native", "playwright_trace", "webarena_verified", "atif", "inspect_ai"),
    *("computer_use", "webvoyager"),
)
KNOWN_BY_THEMSELVES = ("agentrewardbench", "browser_use", "online_mind2web")
ANSWERS = {"om2w_labels": "official"}


@pytest.mark.parametrize("name", [*FORMATS, *KNOWN_BY_THEMSELVES])
@pytest.mark.slow
def test_the_original_reads_as_the_same_run(name):
    with open_runs(DATA / name, answers=ANSWERS) as source:
        bundles = [item for item in source if isinstance(item, RunBundle)]
        assert bundles
        for bundle in bundles:
            kept = KeptTree(bundle)
            if kept.names == ("output/26/network.har",):
                continue  # a network trace alone is nobody's: nothing beside it says what it is
            known = name in KNOWN_BY_THEMSELVES
            form = AUTO if known else bundle.run.source.format
            with source_of(kept, format=form, answers=ANSWERS) as again:
                items = list(again)
            [read] = items if known else [i for i in items if isinstance(i, RunBundle)]
            assert isinstance(read, RunBundle)
            assert read.content_hash == bundle.content_hash
            assert [e.verdict for e in read.evaluations] == [e.verdict for e in bundle.evaluations]
            assert [each.success for each in read.labels] == [
                each.success for each in bundle.labels
            ]
