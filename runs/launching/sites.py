"""Which sites of the benchmarks are ready, for whoever is about to use them.

Only sites that `SITE_HOSTS` names are asked. A task whose pages come from this machine
(MiniWoB++, Larkfield) names none of them, and is always ready.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from runs.models import Run, Task
from webagent.environment.placeholders import sites_named
from webagent.environment.probing import SiteState, probe_sites
from webagent.trajectory.records import Json

FRESH_S = 20.0
"""So long an answer holds: many runs start in a row, and each asks."""
AT_END_S = 2.0
"""The same where a run ends: what was true when it began says nothing of how the site was left."""

_asking = threading.Lock()
_known: dict[tuple[str, str], tuple[float, SiteState]] = {}


def sites_of(task: Task) -> list[str]:
    """The configured sites that a task uses, by its list of sites or where it starts."""
    named = {*(str(site).lower() for site in task.sites), *sites_named(task.start_urls)}
    return [site for site in settings.SITE_HOSTS if site in named]


def site_states(
    sites: Iterable[str] | None = None, *, max_age_s: float | None = None
) -> list[SiteState]:
    """How the configured sites are, or those named among them; asked if that is not known.

    Takes as long as the slowest answer, at most some ten seconds.
    """
    named = settings.SITE_HOSTS if sites is None else set(sites)
    wanted = {site: url for site, url in settings.SITE_HOSTS.items() if site in named}
    with _asking:  # who comes second finds the answer
        oldest = time.monotonic() - (FRESH_S if max_age_s is None else max_age_s)
        stale = {
            site: url
            for site, url in wanted.items()
            if _known.get((site, url), (oldest - 1,))[0] < oldest
        }
        if stale:
            asked_at = time.monotonic()
            for state in probe_sites(stale, settings.MAP_BACKENDS):
                _known[state.site, state.url] = (asked_at, state)
        return [_known[item][1] for item in wanted.items()]


def last_known() -> list[SiteState]:
    """What this process knows of the configured sites, without asking anybody."""
    return [_known[item][1] for item in settings.SITE_HOSTS.items() if item in _known]


def unready_sites(tasks: Iterable[Task], *, max_age_s: float | None = None) -> list[SiteState]:
    """The sites that these tasks use and that are not ready; `why` says what is wrong with each."""
    wanted = {site for task in tasks for site in sites_of(task)}
    return [state for state in site_states(wanted, max_age_s=max_age_s) if not state.is_ready]


def sites_now(task: Task, *, at_end: bool = False) -> list[Json]:
    """How the task's sites are, as a run's record keeps it; empty where it uses none."""
    max_age_s = min(AT_END_S, FRESH_S) if at_end else None
    return [
        {
            "site": state.site,
            "ready": state.is_ready,
            "at": state.at.isoformat(),
            "seconds": max((probe.seconds for probe in state.probes), default=0.0),
            **({} if state.is_ready else {"why": state.why[:500]}),
        }
        for state in site_states(sites_of(task), max_age_s=max_age_s)
    ]


@dataclass(slots=True)
class SiteDuring:
    """Whether a site was ready when a run began and when it ended; None where that is unknown."""

    site: str
    at_start: bool | None = None
    at_end: bool | None = None
    why: str = ""

    @property
    def was_ready(self) -> bool:
        return self.at_start is not False and self.at_end is not False


def sites_during(run: Run) -> list[SiteDuring]:
    """How the run's sites were, as its record says; empty where it used none.

    Records come from outside too, so nothing is taken for granted.
    """
    extra = run.record.get("extra")
    told = extra.get("sites") if isinstance(extra, dict) else None
    found: dict[str, SiteDuring] = {}
    for moment, entries in told.items() if isinstance(told, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict) or moment not in ("start", "end"):
                continue
            name = str(entry.get("site", ""))[:100]
            during = found.setdefault(name, SiteDuring(name))
            setattr(during, f"at_{moment}", bool(entry.get("ready")))
            during.why = during.why or str(entry.get("why", ""))[:500]
    return list(found.values())
