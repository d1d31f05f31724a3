"""`manage.py experiment_report`: the figures of an experiment as tables to take away."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.analysis.experiments.pairs import By
from judging.analysis.experiments.population import Scope, whole_scope
from judging.analysis.experiments.report import ENDINGS, report_files, whole_report, written
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.sources import Source, choices_among, default_source, source_named
from judging.analysis.experiments.tables import TABLES
from runs.models import Experiment


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
            "by default the reward, or else what speaks of most runs",
        )
        parser.add_argument("--selector", metavar="SOURCE", help="picks the best of k trials")
        parser.add_argument("--pair-by", choices=[by.value for by in By])
        parser.add_argument("--format", choices=list(ENDINGS), default="text")
        parser.add_argument("--table", choices=list(TABLES), help="only this")
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for a file each")

    def handle(
        self, *, experiment: str, table: str | None, out: Path | None, **options: Any
    ) -> None:
        scope = whole_scope(_experiment(experiment))
        asked = ReportQuery(
            scope=scope,
            source=_source(options["verdict"]) or _default(scope),
            selector=_source(options["selector"]),
            by=By(options["pair_by"]) if options["pair_by"] else None,
        )
        ending = ENDINGS[options["format"]]
        if out is not None:
            self._into_folder(asked, ending, out)
        elif table is not None:
            self.stdout.write(written(TABLES[table](asked), ending), ending="")
        elif ending == "csv":
            raise CommandError("one CSV file holds one table: give --table or --out")
        else:
            self.stdout.write(whole_report(asked, ending), ending="")

    def _into_folder(self, asked: ReportQuery, ending: str, out: Path) -> None:
        number = 0
        for path, text in report_files(asked, ending):
            target = out / path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                # CSV brings its own line ends.
                target.write_text(text, encoding="utf-8", newline="")
            except OSError as error:
                raise CommandError(f"{target} cannot be written: {error.strerror}") from error
            number += 1
        self.stdout.write(f"{number} files in {out}")


def _experiment(named: str) -> Experiment:
    found = Experiment.objects.filter(name=named).first()
    if found is None and named.isdecimal():
        found = Experiment.objects.filter(pk=int(named)).first()
    if found is None:
        raise CommandError(f"there is no experiment {named}")
    return found


def _source(named: str | None) -> Source | None:
    try:
        return source_named(named) if named else None
    except ValueError as error:
        raise CommandError(str(error)) from error


def _default(scope: Scope) -> Source:
    return default_source(choices_among(scope.counted(Source())))
