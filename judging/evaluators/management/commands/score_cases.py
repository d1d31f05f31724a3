"""Score a file of cases line by line, offline, so that anybody can hold a matcher against another.

Input line: {"id", "eval", "answer"?, "url"?, "content"?, "intent"?}: `eval` in WebArena's schema,
`url` the final page URL, `content` what the `program_html` locators returned (one text for every
target, or a list with one text each). Placeholders of sites (`__GITLAB__`) in `eval` and `intent`
are replaced by the given hosts; where one is left in what is compared, that is the error. Output
line: {"id", "score", "needs_llm", "score_if_judge_all_pass", "score_if_judge_all_fail",
"judge_calls", "error", "details"}. `score` is null where it depends on a judge's reply
(`needs_llm`), or where there is an error; `judge_calls` is empty where no reply is needed.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError

from judging.evaluators.matching.outcome import (
    Matcher,
    MatchEvaluation,
    MatchOutcome,
    MatchTask,
    Verdict,
    no_verdict,
    unresolved,
)
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from judging.evaluators.matching.repaired.pages import HostAliases, site_aliases
from judging.evaluators.matching.specification import SpecificationError, mapping, text
from runs.exports.services import replacing
from webagent.environment.placeholders import checked_hosts, parse_hosts, resolve, resolve_text

LONGEST_LINE = 32 * 1024 * 1024
"""Characters; a page's HTML fits many times over."""


def read_lines(file: TextIO, limit: int = LONGEST_LINE) -> Iterator[str | None]:
    """The file's lines without blank ones; None for a line of more than `limit` characters.

    Never holds more than one line and `limit` characters.
    """
    while line := file.readline(limit + 1):
        too_long = len(line) > limit and not line.endswith("\n")
        while too_long and line and not line.endswith("\n"):
            line = file.readline(limit + 1)
        if too_long:
            yield None
        elif line.strip():
            yield line


def score_lines(
    lines: Iterable[str | None], matcher: Matcher, hosts: Mapping[str, str] | None = None
) -> Iterator[dict[str, object]]:
    """One JSON-ready result for each line, in order; a line that makes no sense gets an error.

    Args:
        hosts: base URL by site, such as `{"reddit": "http://localhost:9999"}`.
    """
    known = hosts or {}
    host_aliases = site_aliases(known)
    for number, line in enumerate(lines, start=1):
        identifier: object = None
        try:
            case = _parse(line, number)
            identifier = case.get("id")
            found = matcher.evaluate(_task(case, known, host_aliases), _outcome(case))
            if placeholder := unresolved(found):
                reason = f"the reference names {placeholder}, a site whose address is not given"
                found = no_verdict(reason, found.checks)
        except SpecificationError as error:
            found = no_verdict(str(error))
        yield _result(identifier, found)


def _parse(line: str | None, number: int) -> Mapping[str, object]:
    if line is None:
        raise SpecificationError(f"case {number} is longer than {LONGEST_LINE} characters")
    try:
        return mapping(json.loads(line), f"case {number}")
    except (json.JSONDecodeError, RecursionError) as error:
        raise SpecificationError(f"case {number} is not JSON: {error}") from error


def _task(
    case: Mapping[str, object], hosts: Mapping[str, str], host_aliases: HostAliases
) -> MatchTask:
    return MatchTask(
        evaluation=resolve(mapping(case.get("eval"), "eval"), hosts),
        intent=resolve_text(_optional_text(case, "intent") or "", hosts),
        host_aliases=host_aliases,
    )


def _outcome(case: Mapping[str, object]) -> MatchOutcome:
    return MatchOutcome(
        answer=_optional_text(case, "answer"),
        final_url=_optional_text(case, "url"),
        pages=_pages(case),
    )


def _optional_text(case: Mapping[str, object], key: str) -> str | None:
    value = case.get(key)
    return None if value is None else text(value, key)


def _pages(case: Mapping[str, object]) -> tuple[str | None, ...]:
    content = case.get("content")
    if content is None:
        return ()
    if isinstance(content, list):
        return tuple(None if item is None else str(item) for item in content)
    targets = mapping(case.get("eval"), "eval").get("program_html")
    count = len(targets) if isinstance(targets, list) else 0
    return (str(content),) * count


def _result(identifier: object, found: MatchEvaluation) -> dict[str, object]:
    needs_judge = found.verdict is Verdict.NEEDS_JUDGE
    details = found.as_details()
    return {
        "id": identifier,
        "score": found.score,
        "needs_llm": needs_judge,
        "score_if_judge_all_pass": found.score_if_all_pass,
        "score_if_judge_all_fail": found.score_if_all_fail,
        "judge_calls": details["judge_calls"] if needs_judge else [],
        "error": found.error,
        "details": details["checks"],
    }


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
            given = parse_hosts(",".join(options["host"]))
            hosts = checked_hosts(given, names=tuple(site.lower() for site in given))
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
    try:
        with replacing(Path(name)) as part, part.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
