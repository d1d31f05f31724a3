"""Every fault of a provider, each met by one of the judges; a campaign has all of them meet all."""

from itertools import cycle

import pytest

from tests.faults.findings import Findings
from tests.faults.scenarios.providers import FAULTS, JUDGES, meet
from tests.webagent.llm.stub_models import NAMES

pytestmark = pytest.mark.slow


@pytest.mark.fault(
    8, f"each of {len(FAULTS)} faults of a provider, met by one judge after the other"
)
def test_a_provider_that_fails_is_an_error_and_never_a_verdict(findings: Findings) -> None:
    judges, names = cycle(JUDGES), cycle(NAMES)
    findings.times = len(FAULTS)
    for fault in FAULTS:
        found, calls = meet(next(judges), fault, next(names))
        findings.complain(found)
        findings.more["requests to the provider"] += calls
    findings.check()
