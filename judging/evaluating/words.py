"""Batches of evaluations in words: what they will take, what came of them."""

from __future__ import annotations

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from judging.evaluating.cost_estimates import Estimate
from judging.models import Evaluation, EvaluationBatch
from runs.templatetags.interface import money


def estimate_in_words(expected: Estimate) -> str:
    """One line: how many runs, for how many of them a model is asked, and the price."""
    runs = ngettext("%(n)s run", "%(n)s runs", expected.n_runs) % {"n": intcomma(expected.n_runs)}
    if not expected.asks_model:
        return _("%(runs)s; no language model is asked, so it costs nothing.") % {"runs": runs}
    if not expected.n_runs:
        return _("No run is left to evaluate.")
    if not expected.n_asking:
        return _("%(runs)s; the model is probably asked for none of them.") % {"runs": runs}
    asked = _("%(runs)s, the model is asked for about %(n)s of them: up to %(tokens)s tokens") % {
        "runs": runs,
        "n": intcomma(expected.n_asking),
        "tokens": intcomma(expected.input_tokens + expected.output_tokens),
    }
    if expected.cost is None:
        return _("%(asked)s; the price is unknown, since the file of models holds none.") % {
            "asked": asked
        }
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
