"""A world without a browser: two sites, three tasks on each, and one right lever for every task.

Seeds 0, 3, 6 … are lucky: the page says which lever is right. Otherwise only a notice tells it:
a sign in the garden, a bell in the harbour. A wrong lever does nothing; giving up ends the run.
"""

from types import MappingProxyType

from tests.webagent.made_up import Stage, task_of
from tests.webagent.pages import observation
from webagent.environment.browser import BrowserSettings
from webagent.environment.interface import UnknownTask
from webagent.environment.registry import register_suite
from webagent.trajectory.live import ActionOutcome, Observation, StepResult
from webagent.trajectory.records import TaskRecord

PREFIX = "levers"
TASKS = MappingProxyType(
    {
        # The first two of a site read alike, the third does not.
        "levers.rowan": ("garden", "Open the little gate under the rowan", "rowan lever"),
        "levers.birch": ("garden", "Open the little gate under the birch", "birch lever"),
        "levers.geese": ("garden", "Count our wild geese", "geese counter"),
        "levers.amber": ("harbour", "Lower that bridge beside amber warehouses", "amber winch"),
        "levers.coral": ("harbour", "Lower that bridge beside coral warehouses", "coral winch"),
        "levers.tide": ("harbour", "Report tonight's tide", "tide gauge"),
    }
)
NOTICE = MappingProxyType({"garden": "sign", "harbour": "bell"})


def register() -> None:
    """From now on the tasks of this suite can run."""
    register_suite(PREFIX, __name__)


class Levers(Stage):
    """One task at one seed."""

    def __init__(self, task_name: str) -> None:
        self.site, self._goal, self._right = TASKS[task_name]
        self._labels = [label for site, _goal, label in TASKS.values() if site == self.site]
        self._is_told = False

    def reset(self, seed: int | None) -> Observation:
        self._is_told = (seed or 0) % 3 == 0
        return self._seen()

    def step(self, action: str) -> StepResult:
        clicked = action.removeprefix("click('").removesuffix("')")
        name = self._buttons.get(clicked, "")
        gave_up = action.startswith("report_infeasible")
        self._is_told = self._is_told or name == NOTICE[self.site]
        is_right = name == self._right
        return StepResult(
            observation=self._seen(),
            reward=1.0 if is_right else 0.0,
            terminated=is_right,
            gave_up=gave_up,
            outcomes=(ActionOutcome(executed=True),),
        )

    @property
    def _buttons(self) -> dict[str, str]:
        return {str(20 + n): name for n, name in enumerate([*self._labels, NOTICE[self.site]])}

    def _seen(self) -> Observation:
        lines = [f"RootWebArea 'The {self.site}', focused"]
        lines += [f"\t[{bid}] button '{name}', clickable" for bid, name in self._buttons.items()]
        lines += [f"\tStaticText 'It says: {self._right}'"] if self._is_told else []
        return observation("\n".join(lines), goal=self._goal, page=self.site)


def environment(task_name: str, settings: BrowserSettings, step_timeout_s: float) -> Levers:
    return Levers(task_name)


def task_record(task_name: str) -> TaskRecord:
    if task_name not in TASKS:
        raise UnknownTask(f"There is no {task_name}.")
    site, goal, _right = TASKS[task_name]
    return task_of(task_name, goal, (site,))


def task_names() -> tuple[str, ...]:
    return tuple(TASKS)
