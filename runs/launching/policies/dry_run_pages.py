"""What the page of a dry run shows: each run with its rule, the counts and the estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.launching.policies.dry_run_forms import DryRunForm
from runs.launching.policies.rerun_estimates import estimate_reruns
from runs.launching.policies.rerun_plans import MOST_RUNS, Answer, Planned, plan_reruns
from runs.launching.policies.words import rule_in_words
from runs.models import User

if TYPE_CHECKING:
    from runs.models.shown_runs import ShownRun

WORDS = {
    Answer.RERUN: gettext_lazy("would be rerun"),
    Answer.USED_UP: gettext_lazy("rerun as often as the rule allows"),
    Answer.NO_RULE: gettext_lazy("no rule fits"),
    Answer.NO_VERDICT: gettext_lazy("no rule fits; a verdict that one asks for is missing"),
    Answer.HIDDEN: gettext_lazy("you are judging it"),
    Answer.MOVING: gettext_lazy("on its way already"),
    Answer.REPLACED: gettext_lazy("a later attempt stands in its place"),
    Answer.ELSEWHERE: gettext_lazy("its rerun is in this list itself"),
    Answer.CANNOT: gettext_lazy("cannot run here"),
}
"""What becomes of a run."""


@dataclass(frozen=True, slots=True)
class DryRunRow:
    """One run with words for what becomes of it."""

    run: ShownRun
    planned: Planned
    words: str
    rule: str

    @property
    def is_rerun(self) -> bool:
        return self.planned.answer is Answer.RERUN


def dry_run_context(form: DryRunForm, user: User) -> dict[str, Any]:
    """The dry run of a valid form."""
    plan = plan_reruns(form.asked, form.runs, user)
    n_runs = len(plan.rows)
    limit = plan.body.batch.runs
    return {
        "policy": form.asked,
        "rows": [row_in_words(row) for row in plan.rows],
        "n_runs": n_runs,
        "n_reruns": len(plan.reruns),
        "counts": [(WORDS[answer], n) for answer, n in plan.counts.most_common()],
        "estimate": estimate_reruns(plan, user),
        "most_that_start": limit if limit is not None and limit < len(plan.reruns) else None,
        "is_cut": n_runs == MOST_RUNS,
    }


def row_in_words(row: Planned) -> DryRunRow:
    """A row of the table."""
    words = str(WORDS[row.answer])
    if row.answer is Answer.CANNOT:
        words = _("%(words)s: %(why)s") % {"words": words, "why": row.why}
    return DryRunRow(row.run, row, words, rule_in_words(row.rule) if row.rule else "")
