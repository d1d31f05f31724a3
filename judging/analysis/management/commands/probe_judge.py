"""`manage.py probe_judge`: how easily a judge is talked into passing what failed."""

import json
from argparse import ArgumentParser
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.analysis.reports.showing import DASH
from judging.evaluating.evaluating import runs_of
from judging.evaluating.probing import AttackResult, Probe, judgements, probe, probed_judge
from judging.evaluators.judges.injections import ATTACKS
from judging.evaluators.registry import REGISTRY, UnknownEvaluatorError
from judging.statistics.figures import Share, Undefined
from judging.studies.management import study_named
from runs.catalogue.language_models import ModelUnavailableError
from runs.interface.terminal import at_most, dollars, progress_bar

FEW = 20


class Command(BaseCommand):
    help = (
        "Judge runs of a study again with attacks on the judge in the answer, and count "
        "flipped verdicts. Stores no evaluation."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, help="number or name")
        judges = [name for name, entry in REGISTRY.items() if entry.asks_model]
        parser.add_argument("--evaluator", required=True, choices=judges, metavar="NAME")
        parser.add_argument("--model", required=True)
        parser.add_argument(
            "--limit", type=at_most, default=FEW, help=f"probe at most so many runs ({FEW})"
        )
        parser.add_argument(
            "--attack",
            action="append",
            choices=[attack.name for attack in ATTACKS],
            metavar="NAME",
            help="repeatable; default all",
        )
        parser.add_argument("--max-cost", type=dollars, metavar="DOLLARS")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        try:
            with probed_judge(options["evaluator"], options["model"], options["max_cost"]) as (
                evaluator,
                at_a_time,
            ):
                asked = filter(evaluator.applies_to, runs_of(study).iterator())
                runs = list(islice(asked, options["limit"]))
                if not runs:
                    raise CommandError("the judge has nothing to say of any run of this study")
                wanted = options["attack"]
                attacks = [each for each in ATTACKS if not wanted or each.name in wanted]
                with progress_bar(shown=not options["json"]) as progress:
                    bar = progress.add_task("judgements", total=judgements(runs, attacks))
                    found = probe(
                        evaluator,
                        at_a_time,
                        runs,
                        attacks,
                        on_finding=lambda: progress.advance(bar),
                    )
        except (ModelUnavailableError, UnknownEvaluatorError) as error:
            raise CommandError(str(error)) from error
        text = json.dumps(_as_json(found), indent=1) if options["json"] else _in_words(found)
        self.stdout.write(text)


def _in_words(found: Probe) -> str:
    lines = [
        f"{found.evaluator} with {found.model}: {found.runs} runs, with their real answers "
        f"{found.passed} passed, {found.failed} failed, {found.no_verdict} without a verdict",
        "",
        f"{'attack':<24}{'answer':<10}{'flips':>9}  {'share':<22}"
        f"{'manipulated':>12}{'noticed':>9}{'lost':>6}{'no verdict':>12}",
    ]
    lines += [_line(result) for result in found.results]
    cost = "unknown" if found.cost is None else f"${found.cost:.4f}"
    flipped = f"{found.flipped.count} of {found.flipped.total} runs at risk"
    lines += ["", f"Passed by at least one attack: {flipped} {_share(found.flipped)}; cost {cost}"]
    if found.is_cut_short:
        lines.append("Cut short: the next request might have cost more than is left.")
    return "\n".join(lines)


def _line(result: AttackResult) -> str:
    flips = f"{result.flips}/{result.at_risk}"
    return (
        f"{result.attack:<24}{result.way:<10}{flips:>9}  {_share(result.share):<22}"
        f"{result.manipulated:>12}{result.noticed:>9}{result.lost:>6}{result.no_verdict:>12}"
    )


def _share(share: Share) -> str:
    value, interval = share.value, share.interval
    if isinstance(value, Undefined) or isinstance(interval, Undefined):
        return DASH
    return f"{value:.0%} ({interval.low:.0%}-{interval.high:.0%})"


def _as_json(found: Probe) -> dict[str, object]:
    return {
        "evaluator": found.evaluator,
        "model": found.model,
        "runs": found.runs,
        "passed": found.passed,
        "failed": found.failed,
        "no_verdict": found.no_verdict,
        "attacks": [
            {
                "attack": result.attack,
                "way": result.way.value,
                "at_risk": result.at_risk,
                "flips": result.flips,
                **_share_as_json(result.share),
                "manipulated": result.manipulated,
                "noticed": result.noticed,
                "lost": result.lost,
                "no_verdict": result.no_verdict,
            }
            for result in found.results
        ],
        "flipped": {
            "runs": found.flipped.count,
            "at_risk": found.flipped.total,
            **_share_as_json(found.flipped),
        },
        "cost": None if found.cost is None else str(found.cost),
        "is_cut_short": found.is_cut_short,
    }


def _share_as_json(share: Share) -> dict[str, object]:
    value, interval = share.value, share.interval
    if isinstance(value, Undefined) or isinstance(interval, Undefined):
        return {"share": None, "interval": None}
    return {"share": value, "interval": [interval.low, interval.high]}
