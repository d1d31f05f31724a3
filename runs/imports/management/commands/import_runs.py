"""`manage.py import_runs PATH...`: bring runs in."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.progress import Progress

from runs.accounts.audit_log import record_entry
from runs.imports.reports import ImportReport
from runs.imports.rows import is_stored
from runs.imports.session import import_bounds
from runs.imports.storing import import_runs
from runs.imports.thumbnailing import make_thumbnails
from runs.interface.terminal import progress_bar
from runs.models.audit_log import RUNS_IMPORTED
from runs.models.extension import extension
from webagent.trajectory.reading import AUTO, QUESTIONS, format_names, open_runs
from webagent.trajectory.surveys import survey

SHOWN_PROBLEMS = 50


class Command(BaseCommand):
    help = (
        "Import runs from folders, zips and JSON files. Each is stored whole or not at all; "
        "stored ones stay as they are. Exit code 1 if any was rejected."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--format", choices=format_names(), default=AUTO)
        parser.add_argument("--experiment", help="to put them in")
        parser.add_argument(
            "--answer",
            action="append",
            default=[],
            metavar="KEY=CHOICE",
            help="answers a question of the preview",
        )
        parser.add_argument("--dry-run", action="store_true", help="only preview")
        parser.add_argument("--json", action="store_true")

    def handle(
        self,
        *,
        paths: list[Path],
        format: str,
        experiment: str | None,
        answer: list[str],
        dry_run: bool,
        json: bool,
        **_: Any,
    ) -> None:
        answers = read_answers(answer)
        if dry_run:
            self._look(paths, format, answers, as_json=json)
            return
        report = ImportReport()
        with progress_bar(shown=not json) as progress:
            for path in paths:
                _import(path, format, experiment, answers, report, progress)
            progress.add_task("thumbnails", total=None)
            make_thumbnails()
        record_entry(
            RUNS_IMPORTED,
            words=", ".join(path.name for path in paths),
            after=f"{len(report.imported)} new, {len(report.rejected)} rejected",
        )
        if json:
            self.stdout.write(_as_json(report.to_json()))
        else:
            self._print(report)
        if report.rejected:
            sys.exit(1)

    def _look(
        self, paths: list[Path], format: str, answers: dict[str, str], *, as_json: bool
    ) -> None:
        """Say what is in there; leave with 1 if something cannot be taken."""
        surveys = {}
        for path in paths:
            with open_runs(
                path, format=format, bounds=import_bounds(), label=str(path), answers=answers
            ) as source:
                refused = extension().verdicts.refused
                looked = survey(source, is_known=is_stored, refused=refused)
                surveys[str(path)] = looked.to_json()
        if as_json:
            self.stdout.write(_as_json(surveys))
        else:
            for name, found in surveys.items():
                self.stdout.write("\n".join(survey_lines(name, found)))
        if any(found["rejected"] for found in surveys.values()):
            sys.exit(1)

    def _print(self, report: ImportReport) -> None:
        steps = sum(run.n_steps for run in report.imported)
        pictures = sum(run.n_screenshots for run in report.imported)
        self.stdout.write(
            f"Imported {len(report.imported)} runs with {steps} steps and {pictures} screenshots."
        )
        archived = f" ({n} archived)" if (n := report.n_archived) else ""
        self.stdout.write(f"Already there: {len(report.already_there)}{archived}.")
        self.stdout.write(f"Rejected: {len(report.rejected)}.")
        for rejected in report.rejected:
            self.stdout.write(self.style.ERROR(f"  {_line(rejected.to_json())}"))
        if report.n_problems:
            self.stdout.write(f"Left out of runs that were taken: {report.n_problems}.")
        for problem in report.problems[:SHOWN_PROBLEMS]:
            self.stdout.write(self.style.WARNING(f"  {_line(problem.to_json())}"))
        if report.n_problems > SHOWN_PROBLEMS:
            self.stdout.write(f"  and {report.n_problems - SHOWN_PROBLEMS} more (--json has them)")
        if report.unread:
            self.stdout.write(_unread(report.n_unread, report.unread))


def read_answers(given: Iterable[str]) -> dict[str, str]:
    """Key -> choice, from `KEY=CHOICE` each.

    Raises:
        CommandError: it is written otherwise, or nobody asks that; names what is asked.
    """
    pairs = [answer.partition("=") for answer in given]
    if wrong := [key for key, equals, choice in pairs if not (key and equals and choice)]:
        raise CommandError(f"--answer {wrong[0]}: write KEY=CHOICE")
    for key, _equals, choice in pairs:
        if key not in QUESTIONS:
            raise CommandError(f"--answer {key}: no such question; there is {', '.join(QUESTIONS)}")
        if choice not in QUESTIONS[key].choices:
            choices = ", ".join(QUESTIONS[key].choices)
            raise CommandError(f"--answer {key}={choice}: one of {choices}")
    return {key: choice for key, _, choice in pairs}


def _import(
    path: Path,
    format: str,
    experiment: str | None,
    answers: dict[str, str],
    report: ImportReport,
    progress: Progress,
) -> None:
    with open_runs(
        path, format=format, bounds=import_bounds(), label=str(path), answers=answers
    ) as source:
        bar = progress.add_task(path.name, total=source.total)
        before = report.n_done
        report.leave(source.unread)
        for item in import_runs(source, experiment_name=experiment, thumbnails_follow=True):
            report.add(item)
            progress.update(bar, completed=report.n_done - before)


def _unread(n: int, names: Sequence[str]) -> str:
    return f"Files that no importer reads: {n}, such as {names[0]}"


def _as_json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, indent=2)


def _line(problem: Mapping[str, Any], *, of_file: bool = False) -> str:
    """Where it is and why; `of_file` leaves out what is known of a file's own problems."""
    line = f"line {problem['line']}" if "line" in problem and not of_file else ""
    source = "" if of_file else problem["source"]
    parts = (source, problem["file"], line, problem["field"])
    where = ", ".join(dict.fromkeys(part for part in parts if part))
    return f"{where}: {problem['reason']}"


def survey_lines(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    """What was found under that name, as `webagent.trajectory.surveys` has it in JSON."""
    yield f"{name}:"
    for each in found["formats"]:
        yield from _format_lines(each)
    for question in found["questions"]:
        yield f"  Asked: {question['text']}"
        for choice, meaning in question["choices"].items():
            yield f"    --answer {question['key']}={choice}: {meaning}"
        yield f"    Without an answer: {question['unanswered']}"
    counts = found["counts"]
    if counts["unread"]:
        yield f"  {_unread(counts['unread'], found['unread'])}"
    for rejected in found["rejected"]:
        yield f"  Cannot be taken: {_line(rejected, of_file=True)}"
    # What is wrong with the upload itself; what runs lack is counted above.
    for problem in found["problems"]:
        if problem["source"] == name:
            yield f"  Left out: {_line(problem, of_file=True)}"


def _format_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {found['format']} {found['version']}".rstrip()
    there = f" ({found['already_there']} already there)" if found["already_there"] else ""
    yield (
        f"    {found['runs']} runs{there}, {found['steps']} steps,"
        f" {found['screenshots']} screenshots"
    )
    yield (
        f"    {found['labels']} labels, {found['verdicts']} settled verdicts,"
        f" {found['evaluations']} verdicts of evaluators{_listed(found['evaluators'], ': ')}"
    )
    for title, key in (("Missing", "gaps"), ("Left out", "dropped"), ("Secrets", "redacted")):
        if found[key]:
            yield f"    {title}: {_listed(found[key])}"


def _listed(counts: Mapping[str, int], before: str = "") -> str:
    words = ", ".join(f"{what} {n}" for what, n in counts.items())
    return f"{before}{words}" if words else ""
