"""All scenarios of a campaign."""

from tests.faults.scenarios.storms import STORMS

SCENARIOS = (*STORMS,)
