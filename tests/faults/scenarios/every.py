"""All scenarios of a campaign."""

from tests.faults.scenarios.deploys import DEPLOYS
from tests.faults.scenarios.evaluations import EVALUATIONS
from tests.faults.scenarios.liveness import LIVENESS
from tests.faults.scenarios.providers import PROVIDERS
from tests.faults.scenarios.races import RACES
from tests.faults.scenarios.restarts import RESTARTS
from tests.faults.scenarios.storms import CLOCKS, COMPILER, STORMS
from tests.faults.scenarios.untold import UNTOLD
from tests.faults.scenarios.uploads import UPLOADS

SCENARIOS = (
    *STORMS,
    *(CLOCKS if COMPILER else ()),
    *RACES,
    *UNTOLD,
    *UPLOADS,
    *EVALUATIONS,
    *PROVIDERS,
    *DEPLOYS,
    *RESTARTS,
    *LIVENESS,
)
