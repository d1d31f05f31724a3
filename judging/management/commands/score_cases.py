"""Score a file of cases offline, one JSON object a line."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError

from judging.evaluators.matching.cases import read_lines, score_lines
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from judging.evaluators.matching.specification import mapping
from webagent.placeholders import checked_hosts, parse_hosts


class Command(BaseCommand):
    help = (
        'Score cases with a matcher: each line {"id", "eval", "answer"?, "url"?, "content"?, '
        '"intent"?} gives a line with its score, the judge calls it needs, and every check.'
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cases", metavar="IN.jsonl", help="- for standard input")
        parser.add_argument("--evaluator", required=True, choices=NAMES)
        parser.add_argument("--out", required=True, help="- for standard output")
        parser.add_argument(
            "--config", default="{}", help='the matcher\'s settings as JSON, {"off": ["hedging"]}'
        )
        parser.add_argument(
            "--host",
            action="append",
            default=[],
            metavar="SITE=URL",
            help="a site's base URL in this deployment (reddit=http://h:9999), in place of "
            "__REDDIT__ too; repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            config = mapping(_json(options["config"]), "--config")
            matcher = build_matcher(options["evaluator"], config)
            hosts = _hosts(options["host"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        count = errors = 0
        with _reading(options["cases"]) as source, _writing(options["out"]) as target:
            for result in score_lines(read_lines(source), matcher, hosts):
                target.write(json.dumps(result, ensure_ascii=False) + "\n")
                count += 1
                errors += result["error"] is not None
        if options["verbosity"]:
            self.stderr.write(f"{count} cases, {errors} without a verdict")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--config is no JSON: {error}") from error


def _hosts(pairs: list[str]) -> dict[str, str]:
    hosts = parse_hosts(",".join(pairs))
    return checked_hosts(hosts, names=tuple(site.lower() for site in hosts))


@contextmanager
def _reading(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdin
        return
    try:
        with Path(name).open(encoding="utf-8-sig", errors="replace") as file:
            yield file
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error


@contextmanager
def _writing(name: str) -> Iterator[TextIO]:
    """A file that appears under its name only once it is complete."""
    if name == "-":
        yield sys.stdout
        return
    target = Path(name)
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(target)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
