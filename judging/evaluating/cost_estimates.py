"""What a batch of evaluations will ask of a model, and what that costs, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from math import ceil
from typing import cast
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from judging.evaluators.contract import AskingEvaluator, Evaluator
from judging.models import Evaluation, EvaluationBatch
from runs.interface.words import money
from runs.models import Run
from webagent.llm.registry import ModelEntry

SAMPLE = 24
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Rather too much than too little: every stage is asked, and replies are as long as they may.

    Nothing is subtracted for replies that are kept from before. `n_asking`: runs for which the
    model is asked. `cost` in US dollars, None where the model's price is unknown.
    """

    n_runs: int
    n_sampled: int = 0
    n_asking: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None
    asks_model: bool = True

    def as_json(self) -> dict[str, object]:
        """The estimate as it is kept with a batch."""
        return asdict(self) | {"cost": None if self.cost is None else f"{self.cost:f}"}


def estimate(evaluator: Evaluator, run_ids: Sequence[UUID], entry: ModelEntry | None) -> Estimate:
    """What evaluating these runs takes, from the requests for some of them, spread evenly.

    Args:
        entry: the model; None for evaluators that ask none.
    """
    if entry is None:
        return Estimate(n_runs=len(run_ids), cost=Decimal(0), asks_model=False)
    ids = _spread(run_ids, SAMPLE)
    runs = Run.objects.filter(pk__in=ids).select_related("task__task_set")
    asking = cast("AskingEvaluator", evaluator)
    tokens = [asking.estimate(run) for run in runs]
    share = len(run_ids) / len(tokens) if tokens else 0
    taken = ceil(share * sum(given for given, _ in tokens))
    written = ceil(share * sum(given for _, given in tokens))
    return Estimate(
        n_runs=len(run_ids),
        n_sampled=len(tokens),
        n_asking=round(share * sum(given > 0 for given, _ in tokens)),
        input_tokens=taken,
        output_tokens=written,
        cost=cost_of(taken, written, entry),
    )


def _spread(ids: Sequence[UUID], most: int) -> list[UUID]:
    if len(ids) <= most:
        return list(ids)
    return [ids[place * len(ids) // most] for place in range(most)]


def cost_of(input_tokens: int, output_tokens: int, entry: ModelEntry) -> Decimal | None:
    """What so many tokens cost in US dollars; None where the model's price is unknown."""
    if entry.prices is None:
        return None
    return (input_tokens * entry.prices.input + output_tokens * entry.prices.output) / _MILLION


def estimate_in_words(expected: Estimate) -> str:
    """One line: how many runs, for how many of them a model is asked, and the price."""
    runs = ngettext("%(n)s run", "%(n)s runs", expected.n_runs) % {"n": intcomma(expected.n_runs)}
    if not expected.asks_model:
        return _("%(runs)s; no language model is asked, at no cost.") % {"runs": runs}
    if not expected.n_runs:
        return _("No run left to evaluate.")
    if not expected.n_asking:
        return _("%(runs)s; the model is probably asked for none of them.") % {"runs": runs}
    asked = _("%(runs)s, the model is asked for about %(n)s of them: up to %(tokens)s tokens") % {
        "runs": runs,
        "n": intcomma(expected.n_asking),
        "tokens": intcomma(expected.input_tokens + expected.output_tokens),
    }
    if expected.cost is None:
        return _("%(asked)s; the file of models holds no price.") % {"asked": asked}
    return _("%(asked)s, at most about %(cost)s.") % {"asked": asked, "cost": money(expected.cost)}


def result_in_words(batch: EvaluationBatch, already: int) -> str:
    """How many runs were evaluated, with what result."""
    made = {
        verdict: getattr(batch, f"n_{verdict.value}")
        for verdict in Evaluation.Verdict
        if getattr(batch, f"n_{verdict.value}")
    }
    parts = ", ".join(f"{count} {verdict.label}" for verdict, count in made.items())
    return _("%(n)s evaluated%(result)s, %(already)s already had an evaluation") % {
        "n": sum(made.values()),
        "result": f" ({parts})" if parts else "",
        "already": already,
    }
