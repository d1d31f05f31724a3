"""`manage.py report`: the audit of a study as tables."""

from argparse import ArgumentParser
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import TextChoices
from django.utils.translation import gettext

from judging.analysis.audits.comparing.studies import TwoStudies, two_studies
from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.query import AuditQuery, NoVerdict, Pairing, Unsure
from judging.analysis.audits.reports import AUDIT, BY_SPLIT, report_files
from judging.analysis.audits.reports import document as audit_document
from judging.analysis.audits.verdict_sources import sources_of
from judging.analysis.experiments.pairs import By
from judging.analysis.reports.registry import Registry
from judging.analysis.reports.writing import ENDINGS, write, write_document
from judging.models import Study
from judging.studies.management import study_named


class Command(BaseCommand):
    help = (
        "Write the audit of a study as a document, a table or a folder; with --beside two studies "
        "side by side."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name")
        parser.add_argument("--format", choices=list(ENDINGS), default="markdown")
        tables = dict.fromkeys((*AUDIT.entries, *TWO_STUDIES.entries))
        parser.add_argument("--table", choices=list(tables), help="only this")
        ways: dict[str, tuple[type[TextChoices], str]] = {
            "--unsure": (Unsure, "whether agreement counts “unsure” as an answer"),
            "--pairing": (
                Pairing,
                "agreement between people, or of each run's first label with its second",
            ),
            "--no-verdict": (
                NoVerdict,
                "what a run without a verdict is to an evaluator's figures",
            ),
        }
        for name, (values, words) in ways.items():
            parser.add_argument(name, choices=values.values, default=values.values[0], help=words)
        parser.add_argument(
            "--split", default="", help="split of the tasks that matrices and figures are of"
        )
        parser.add_argument("--beside", metavar="STUDY", help="the second of two studies")
        parser.add_argument("--first", default="", metavar="EVALUATOR", help="of the first of two")
        parser.add_argument("--second", default="", metavar="EVALUATOR", help="of the second")
        parser.add_argument(
            "--by",
            type=By,
            choices=list(By),
            metavar="{" + ",".join(By) + "}",
            help="how runs of two studies pair",
        )
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for a file each")

    def handle(self, *, study: str, **options: Any) -> None:
        query = AuditQuery(
            unsure=Unsure(options["unsure"]),
            pairing=Pairing(options["pairing"]),
            no_verdict=NoVerdict(options["no_verdict"]),
            split=options["split"],
        )
        table, out, ending = options["table"], options["out"], ENDINGS[options["format"]]
        registry: Registry[Any] = TWO_STUDIES if options["beside"] else AUDIT
        facts: Any
        if options["beside"]:
            if query != AuditQuery():
                raise CommandError("two studies side by side count in one way only")
            facts = _beside(study, options)
            document, files = partial(_document, facts), TWO_STUDIES.files(facts, ending)
        else:
            if query.split and (out is not None or table not in (None, *BY_SPLIT)):
                raise CommandError(f"of one split there are: {', '.join(BY_SPLIT)}")
            facts = AuditFacts(study_named(study), query)
            document, files = partial(audit_document, facts), report_files(facts, ending)
        if table in registry and out is not None:
            files = iter([(Path(f"{table}.{ending}"), write(registry.make(table, facts), ending))])
        registry.answer(self, facts, options, document, files)


def _document(facts: TwoStudies, ending: str) -> str:
    made = TWO_STUDIES.for_document(facts)
    return write_document(facts.title(gettext("figures")), made, ending)


def _beside(study: str, options: Mapping[str, Any]) -> TwoStudies:
    """The two studies under the evaluators that are named by number or name."""
    first, second = study_named(study), study_named(options["beside"])
    if first == second:
        raise CommandError("a study does not stand beside itself")
    keys = _key(first, options["first"]), _key(second, options["second"])
    return two_studies(first, second, keys, options["by"])


def _key(study: Study, words: str) -> str:
    """The evaluator's key; empty where none is named."""
    if not words:
        return ""
    found = sources_of(study).evaluators
    for each in found:
        if each.evaluator and words in (each.key, each.evaluator.name, each.name):
            return each.key
    names = ", ".join(each.name for each in found) or "none"
    raise CommandError(f"{study} has no evaluator {words}: {names}")
