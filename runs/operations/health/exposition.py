"""All that is counted, in the words that Prometheus reads."""

from __future__ import annotations

import os

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from runs.operations.health.gauges import SiteGauges
from runs.telemetry.counters import FOLDER

CONTENT_TYPE = CONTENT_TYPE_LATEST

_site = CollectorRegistry()
_site.register(SiteGauges())


def counts() -> bytes:
    """What this program has counted, all its processes together."""
    if FOLDER not in os.environ:
        return generate_latest(REGISTRY)
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return generate_latest(together)


def exposition() -> bytes:
    """What this program has counted, and how the whole site stands."""
    return counts() + generate_latest(_site)
