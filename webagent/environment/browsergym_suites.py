"""Tasks of BrowserGym's benchmarks of whole sites, where their packages and their sites are."""

import importlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from webagent.environment.browser import BrowserSettings
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.browsergym_task import TaskEntrypoint
from webagent.environment.interface import UnknownTask, known_task
from webagent.environment.registry import SITE_BENCHMARKS, SiteBenchmark
from webagent.trajectory.records import Json, TaskRecord, TaskSetRecord, TextPart

BETWEEN_STARTS = " |AND| "
"""Between the addresses that a task opens, each in a tab of its own."""


class Specification(BaseModel):
    """What a package's file says of a task, as far as it is of use here."""

    model_config = ConfigDict(frozen=True)

    task_id: int
    sites: tuple[str, ...] = ()
    start_url: str = ""
    intent: str = ""
    intent_template: str | None = None
    eval: Json | None = None


@dataclass(frozen=True, slots=True)
class SiteSuite:
    """The tasks of one benchmark as a suite; see `registry.Suite`."""

    benchmark: SiteBenchmark

    @property
    def ENDS_AT_FIRST_MESSAGE(self) -> bool:
        return self.benchmark.ends_at_message

    def environment(
        self, task_name: str, settings: BrowserSettings, step_timeout_s: float
    ) -> BrowserGymEnvironment:
        """The task on its sites."""
        entrypoint = known_task(self.benchmark.prefix, task_name, _tasks_of(self.benchmark))
        addresses = {
            site: urlsplit(os.environ[name]) for site, name in self.benchmark.sites.items()
        }
        said = self._specification(task_name)
        own = said.sites if said else tuple(addresses)
        # An error page of a site that the task is not about is the agent's business.
        homes = {addresses[site].netloc for site in own if site in addresses}
        netlocs = {address.netloc for address in addresses.values()}
        hosts = {url.hostname for url in addresses.values() if url.hostname}
        if self.benchmark.hosts_variable:
            listed = os.environ[self.benchmark.hosts_variable].split(",")
            hosts |= {host for each in listed if (host := each.strip().lower())}
        return BrowserGymEnvironment(
            entrypoint,
            allowed_hosts=frozenset(hosts),
            foreign_hosts=frozenset(netlocs - homes),
            packages=(self.benchmark.package,),
            settings=settings,
            step_timeout_s=step_timeout_s,
        )

    def task_record(self, task_name: str) -> TaskRecord:
        """The task as its package specifies it; sites keep their placeholders."""
        known_task(self.benchmark.prefix, task_name, _tasks_of(self.benchmark))
        said = self._specification(task_name)
        record = TaskRecord(
            id=task_name,
            task_set=TaskSetRecord(
                name=self.benchmark.prefix, version=self.benchmark.version or "unknown"
            ),
            external_id=task_name,
            sites=(self.benchmark.prefix,),
            max_steps=self.benchmark.max_steps,
        )
        if said is None:
            return record
        return record.model_copy(
            update={
                "sites": said.sites,
                "goal": (TextPart(text=said.intent),),
                "start_urls": tuple(filter(None, said.start_url.split(BETWEEN_STARTS))),
                "intent_template": said.intent_template,
                "eval": said.eval,
            }
        )

    def task_names(self) -> tuple[str, ...]:
        """Every task of the benchmark."""
        return tuple(_tasks_of(self.benchmark))

    def _specification(self, task_name: str) -> Specification | None:
        if self.benchmark.specifications is None:
            return None
        number = int(task_name.rpartition(".")[2])
        return _specifications(*self.benchmark.specifications)[number]


SUITES: Mapping[str, SiteSuite] = {
    prefix: SiteSuite(benchmark) for prefix, benchmark in SITE_BENCHMARKS.items()
}


@cache
def _tasks_of(benchmark: SiteBenchmark) -> Mapping[str, TaskEntrypoint]:
    try:
        module: Any = importlib.import_module(benchmark.module)
        if benchmark.classes:
            return {task.get_task_id(): task for task in getattr(module, benchmark.classes)}
        task_class = getattr(module.task, benchmark.tasks)
        if benchmark.task_lists:
            names = [name for listed in benchmark.task_lists for name in getattr(module, listed)]
            own = {name: name.removeprefix(f"{benchmark.prefix}.") for name in names}
            return {name: partial(task_class, task_id=inside) for name, inside in own.items()}
        numbers = module.config.TASK_IDS
        return {f"{benchmark.prefix}.{n}": partial(task_class, task_id=n) for n in numbers}
    except Exception as error:  # what a foreign package raises where it does not fit is its own
        raise UnknownTask(f"{benchmark.package} cannot be used here: {error}") from error


@cache
def _specifications(module: str, name: str) -> Mapping[int, Specification]:
    told = json.loads(files(module).joinpath(name).read_text(encoding="utf-8"))
    return {each["task_id"]: Specification.model_validate(each) for each in told}
