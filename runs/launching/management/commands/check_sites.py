"""`manage.py check_sites`: are the sites ready that runs are to use?"""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.launching.sites import site_states
from webagent.environment.probing import SiteState


class Command(BaseCommand):
    help = (
        "Ask every site of SITE_HOSTS, and MAP_BACKENDS, whether it is ready. Exit code 1 if "
        "one is not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("site", nargs="*")
        parser.add_argument("--json", action="store_true")

    def handle(self, *, site: list[str], **options: Any) -> None:
        states = site_states(site or None, max_age_s=0)
        if unknown := set(site) - {state.site for state in states}:
            raise CommandError(f"SITE_HOSTS does not name {', '.join(sorted(unknown))}.")
        if options["json"]:
            self.stdout.write(json.dumps({"sites": [_as_json(state) for state in states]}))
        elif not states:
            self.stdout.write("SITE_HOSTS names no site, so there is nothing to ask.")
        else:
            self._print(states)
        if not all(state.is_ready for state in states):
            sys.exit(1)

    def _print(self, states: list[SiteState]) -> None:
        for state in states:
            word = self.style.SUCCESS("ready") if state.is_ready else self.style.ERROR("not ready")
            self.stdout.write(f"{state.site:<15} {word}  {state.url}")
            for probe in state.probes:
                answer = probe.why or "well"
                self.stdout.write(f"  {probe.name:<14} {probe.seconds:6.2f} s  {answer}")
                if probe.why:
                    self.stdout.write(f"                 {probe.url}")


def _as_json(state: SiteState) -> dict[str, Any]:
    return {
        "site": state.site,
        "url": state.url,
        "ready": state.is_ready,
        "at": state.at.isoformat(),
        "probes": [
            {
                "aspect": probe.aspect,
                "part": probe.part,
                "url": probe.url,
                "well": probe.is_well,
                "why": probe.why,
                "status": probe.status,
                "seconds": probe.seconds,
            }
            for probe in state.probes
        ],
    }
