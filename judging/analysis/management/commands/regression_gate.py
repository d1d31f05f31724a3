"""`manage.py regression_gate`: fail a build whose agent has become worse than the baseline."""

import math
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.analysis.gate.decision import CannotTellError, Metric, Rule, decide
from judging.analysis.gate.reading import contestant, read_side, source_for
from judging.analysis.gate.report import Report, write_json, write_junit, write_text
from runs.models.parsing import read_number

FORMATS: Mapping[str, Callable[[Report], str]] = {
    "text": write_text,
    "junit": write_junit,
    "json": write_json,
}
REGRESSION, BAD_INPUT = 1, 2


class Command(BaseCommand):
    help = (
        "Compare a candidate experiment with a baseline, task by task. Exit code 0: passed; "
        "1: the drop is too large and its 95 % interval excludes 0; 2: not comparable."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--baseline", required=True, metavar="EXP", help="name or number")
        parser.add_argument("--candidate", required=True, metavar="EXP", help="name or number")
        for side in ("baseline", "candidate"):
            parser.add_argument(
                f"--{side}-agent",
                metavar="AGENT",
                help=f"the configuration of the {side} where it has several: name, number, or all",
            )
        parser.add_argument("--metric", required=True, choices=[each.value for each in Metric])
        parser.add_argument("--k", type=_whole, help="of pass_at_k; default: most trials")
        parser.add_argument(
            "--max-drop", type=_points, required=True, metavar="POINTS", help="such as 5"
        )
        parser.add_argument(
            "--strict", action="store_true", help="fail on larger drops even within noise"
        )
        parser.add_argument(
            "--max-missing",
            type=_points,
            default=0.1,
            metavar="PERCENT",
            help="of the tasks that need not be comparable (default 10)",
        )
        parser.add_argument(
            "--source",
            metavar="SOURCE",
            help="reward, reference, or evaluator:X with its number or name; for progress "
            "evaluator:milestones-mechanical unless another is named",
        )
        parser.add_argument("--format", choices=list(FORMATS), default="text")
        parser.add_argument("--worst", type=_whole, default=10, help="tasks to name")
        parser.add_argument("--out", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = _report(options)
        except CannotTellError as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        self._write(FORMATS[options["format"]](report), options["out"])
        if report.decision.failed:
            raise CommandError(report.verdict, returncode=REGRESSION)

    def _write(self, text: str, out: Path | None) -> None:
        if out is None:
            self.stdout.write(text, ending="")
            return
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            problem = f"{out} cannot be written: {error.strerror}"
            raise CommandError(problem, returncode=BAD_INPUT) from error


def _report(options: Mapping[str, Any]) -> Report:
    """Raises CannotTellError."""
    metric = Metric(options["metric"])
    if options["k"] and metric is not Metric.PASS_AT_K:
        raise CannotTellError("--k is for --metric pass_at_k")
    baseline, candidate = (
        contestant(options[side], options[f"{side}_agent"]) for side in ("baseline", "candidate")
    )
    if baseline == candidate:
        raise CannotTellError(f"{baseline.name} is both baseline and candidate")
    source = source_for(metric, options["source"], (baseline, candidate))
    made = decide(
        read_side(baseline, metric, source),
        read_side(candidate, metric, source),
        metric,
        Rule(
            max_drop=options["max_drop"],
            strict=options["strict"],
            max_missing=options["max_missing"],
        ),
        options["k"],
    )
    return Report(
        baseline=baseline, candidate=candidate, source=source, decision=made, worst=options["worst"]
    )


def _points(text: str) -> float:
    """Points or percent, 0 to 100, as a share of 1."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError as error:
        raise ArgumentTypeError(f"{text} is no number") from error
    if not math.isfinite(number) or not 0 <= number <= 100:
        raise ArgumentTypeError(f"{text} does not lie between 0 and 100")
    return number / 100


def _whole(text: str) -> int:
    number = read_number(text)
    if not number:
        raise ArgumentTypeError(f"{text} is no number of 1 or more")
    return number
