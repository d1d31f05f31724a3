"""`manage.py check_benchmarks`: what BrowserGym's benchmarks of sites have and lack here."""

import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webagent.environment.interface import UnknownTask
from webagent.environment.probing import probe_sites
from webagent.environment.registry import SITE_BENCHMARKS, SiteBenchmark, task_names


@dataclass(kw_only=True)
class Found:
    """One benchmark: its package's version, what it lacks, its tasks, how its sites answer."""

    benchmark: str
    package: str
    version: str | None
    missing: list[str]
    tasks: int | None = None
    problem: str = ""
    sites: dict[str, str] = field(default_factory=dict)
    """Why a site is not ready; empty where it is."""

    @property
    def is_ready(self) -> bool:
        return not (self.missing or self.problem or any(self.sites.values()))


class Command(BaseCommand):
    help = (
        "Say of WebArena, VisualWebArena, WorkArena and AssistantBench what is missing here, count "
        "their tasks, and ask the sites that have an address whether they are ready. Exit code 1 "
        "if one that is named is not ready."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", nargs="*", help=", ".join(SITE_BENCHMARKS))
        parser.add_argument("--json", action="store_true")

    def handle(self, *, benchmark: list[str], **options: Any) -> None:
        if unknown := set(benchmark) - set(SITE_BENCHMARKS):
            raise CommandError(f"there is no benchmark {', '.join(sorted(unknown))}")
        found = [_found(SITE_BENCHMARKS[name]) for name in benchmark or SITE_BENCHMARKS]
        if options["json"]:
            said = [asdict(each) | {"ready": each.is_ready} for each in found]
            self.stdout.write(json.dumps({"benchmarks": said}))
        else:
            for each in found:
                self._print(each)
        if benchmark and not all(each.is_ready for each in found):
            sys.exit(1)

    def _print(self, found: Found) -> None:
        word = self.style.SUCCESS("ready") if found.is_ready else self.style.WARNING("not ready")
        version = f"{found.package} {found.version}" if found.version else f"no {found.package}"
        tasks = "" if found.tasks is None else f", {found.tasks} tasks"
        self.stdout.write(f"{found.benchmark:<15} {word}  {version}{tasks}")
        for lack in found.missing:
            self.stdout.write(f"  lacks {lack}")
        if found.problem:
            self.stdout.write(f"  {found.problem}")
        for site, why in found.sites.items():
            self.stdout.write(f"  {site}: {why or 'ready'}")


def _found(benchmark: SiteBenchmark) -> Found:
    found = Found(
        benchmark=benchmark.prefix,
        package=benchmark.package,
        version=benchmark.version,
        missing=list(benchmark.missing()),
        sites={
            state.site: "" if state.is_ready else f"{state.url}: {state.why}"
            for state in probe_sites(benchmark.addresses())
        },
    )
    if not found.missing:
        try:
            found.tasks = len(task_names(benchmark.prefix))
        except UnknownTask as problem:
            found.problem = str(problem)
    return found
