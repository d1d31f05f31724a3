"""`manage.py experiment_report`: the figures of an experiment as tables."""

from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from judging.analysis.experiments.access import verdict_source
from judging.analysis.experiments.facts import Facts, ReportQuery
from judging.analysis.experiments.pairs import By
from judging.analysis.experiments.population import whole_scope
from judging.analysis.experiments.reports import EXPERIMENT, document
from judging.analysis.reports.writing import ENDINGS
from runs.interface.terminal import experiment_named


class Command(BaseCommand):
    help = (
        "Write the figures of an experiment under one verdict source, as a document, a table "
        "or a folder."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("experiment", metavar="NAME", help="name or number")
        parser.add_argument(
            "--verdict",
            metavar="SOURCE",
            help="reward, reference, or evaluator:X with its number or name; "
            "by default the reward, else people, unless an evaluator speaks of far more runs",
        )
        parser.add_argument("--selector", metavar="SOURCE", help="picks the best of k trials")
        parser.add_argument("--pair-by", choices=[by.value for by in By])
        parser.add_argument("--format", choices=list(ENDINGS), default="text")
        parser.add_argument("--table", choices=list(EXPERIMENT.entries), help="only this")
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for a file each")

    def handle(self, *, experiment: str, **options: Any) -> None:
        query = ReportQuery(
            source=verdict_source(options["verdict"]) if options["verdict"] else None,
            selector=verdict_source(options["selector"]) if options["selector"] else None,
            by=By(options["pair_by"]) if options["pair_by"] else None,
        )
        facts = Facts(whole_scope(experiment_named(experiment)), query)
        EXPERIMENT.answer(self, facts, options, partial(document, facts))
