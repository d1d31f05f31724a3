"""`manage.py evaluate`: have evaluators judge the runs of a study, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import (
    UnknownEvaluatorError,
    evaluator_named,
    predefined_evaluators,
)
from judging.execution.evaluating import Again, Tally, evaluate_study
from judging.models import Evaluation, Study


class Command(BaseCommand):
    help = (
        "Evaluate the runs of a study. Runs that an evaluator has judged before keep their "
        "evaluation; --again makes another beside it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, help="number or name of the study")
        parser.add_argument(
            "--evaluator",
            action="append",
            metavar="NAME",
            help="an evaluator by name; may be given several times; all of them by default",
        )
        parser.add_argument("--limit", type=int, help="evaluate at most so many runs")
        parser.add_argument(
            "--again",
            type=Again,
            choices=list(Again),
            default=Again.NEVER,
            help="evaluate anew: runs without a verdict, or all; earlier evaluations are kept",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = _study(options["study"])
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit must be 1 or more")
        for evaluator in _evaluators(options["evaluator"]):
            total = Tally()
            for tally in evaluate_study(
                study=study, evaluator=evaluator, limit=options["limit"], again=options["again"]
            ):
                total.add(tally)
            self.stdout.write(f"{evaluator.identity.name}: {_in_words(total)}")


def _study(named: str) -> Study:
    found = Study.objects.filter(pk=int(named)) if named.isdecimal() else None
    study = (found.first() if found is not None else None) or Study.objects.filter(
        name=named
    ).first()
    if study is None:
        raise CommandError(f"there is no study {named}")
    return study


def _evaluators(names: list[str] | None) -> list[Evaluator]:
    try:
        return [evaluator_named(name) for name in names] if names else predefined_evaluators()
    except UnknownEvaluatorError as error:
        raise CommandError(str(error)) from error


def _in_words(tally: Tally) -> str:
    parts = [
        f"{tally.verdicts[verdict]} {verdict.label}"
        for verdict in Evaluation.Verdict
        if tally.verdicts[verdict]
    ]
    result = f" ({', '.join(parts)})" if parts else ""
    return f"{tally.made} evaluated{result}, {tally.already} already had an evaluation"
