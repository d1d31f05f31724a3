"""The moody site as a suite of one task; where it runs is said by `use`."""

from tests.webagent.made_up import task_of
from tests.webagent.moody_site import MoodySite, MoodyTask
from webagent.environment.browser import BrowserSettings
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.browsergym_task import RetryWaits
from webagent.environment.registry import register_suite
from webagent.trajectory.records import TaskRecord

TASK = "moody.shop"
_in_use: list[MoodySite] = []


def use(site: MoodySite) -> None:
    """From now on the suite's task is on this site."""
    register_suite("moody", __name__)
    _in_use[:] = [site]


def environment(
    task_name: str, settings: BrowserSettings, step_timeout_s: float
) -> BrowserGymEnvironment:
    return BrowserGymEnvironment(
        MoodyTask,
        task_arguments={"url": _in_use[0].url},
        allowed_hosts=frozenset({"127.0.0.1"}),
        settings=settings,
        delay_s=0.1,
        step_timeout_s=step_timeout_s,
        patience=RetryWaits(tries=1, first_wait_s=0.05),
    )


def task_record(task_name: str) -> TaskRecord:
    return task_of(task_name, "Finish.", ("shopping",))


def task_names() -> tuple[str, ...]:
    return (TASK,)
