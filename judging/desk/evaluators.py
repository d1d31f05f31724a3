"""How wrong evaluators are in the newest audits, by version, and what to do next."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.matrices import EvaluatorAudit
from judging.analysis.audits.views import listed_studies
from judging.analysis.causes.tags import UNTAGGED
from judging.models import Study
from judging.statistics.figures import Undefined
from judging.studies.access import AUDIT
from runs.interface.requests import AppRequest, needs
from runs.models import User

NEWEST, LOOKED_AT = 3, 10
"""So many audits stand on the home page, out of so many of the newest studies."""
WIDTH, HEIGHT = 64, 18
"""Of the line through an evaluator's versions, in pixels."""


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """The newest version of an evaluator, and those before it, the oldest first."""

    newest: EvaluatorAudit
    earlier: Sequence[EvaluatorAudit]

    @property
    def versions(self) -> list[EvaluatorAudit]:
        return [*self.earlier, self.newest]

    @property
    def line(self) -> str:
        """The points of a line through the FN shares of its versions; empty with less than two."""
        values = [each.matrix.fn_share.value for each in self.versions]
        shares = [value for value in values if not isinstance(value, Undefined)]
        if len(shares) < 2:
            return ""
        highest = max(*shares, 0.01)
        step = WIDTH / (len(shares) - 1)
        return " ".join(
            f"{index * step:.1f},{HEIGHT - 1 - (HEIGHT - 2) * share / highest:.1f}"
            for index, share in enumerate(shares)
        )

    @property
    def got_worse(self) -> bool:
        """Whether it errs more often than the version before it."""
        if not self.earlier:
            return False
        now, before = self.newest.matrix.error_rate, self.earlier[-1].matrix.error_rate
        return now.count * before.total > before.count * now.total


class StudyEvaluators(NamedTuple):
    """A study's evaluators, those that err most first."""

    study: Study
    rows: Sequence[EvaluatorRow]

    @property
    def has_versions(self) -> bool:
        """Whether there is a version to hold against the one before it."""
        return any(row.earlier for row in self.rows)


class NextStep(NamedTuple):
    """What is best done now, why, and where."""

    text: str
    reason: str
    address: str


@require_safe
@vary_on_headers("HX-Request")
@needs(AUDIT)
def audit_newest(request: AppRequest) -> HttpResponse:
    """How wrong the evaluators of the newest audits are, for the home page."""
    audits = _newest_audits(request.user)
    context = {"studies": [evaluators_of(facts) for facts in audits], "next": next_step(audits)}
    return render(request, "judging/desk/evaluators.html", context)


def _newest_audits(user: User) -> list[AuditFacts]:
    """The newest studies that have something to audit and nothing to hide from the person."""
    studies = Study.objects.order_by("-created_at", "-pk")[:LOOKED_AT]
    rows = listed_studies(user, list(studies))
    facts = [AuditFacts(row.study) for row in rows if row.counted][:NEWEST]
    return [each for each in facts if each.speaking]


def evaluators_of(facts: AuditFacts) -> StudyEvaluators:
    """The rows of one study: versions of one name that ask the same model are one evaluator."""
    by_name: defaultdict[tuple[str, str], list[EvaluatorAudit]] = defaultdict(list)
    for each in facts.by_errors:
        by_name[each.evaluator.name, each.evaluator.model].append(each)
    rows = []
    for versions in by_name.values():
        *earlier, newest = sorted(versions, key=lambda each: each.evaluator.created_at)
        rows.append(EvaluatorRow(newest, earlier))
    return StudyEvaluators(facts.study, rows)


def next_step(audits: Sequence[AuditFacts]) -> NextStep | None:
    """To explain the evaluator with the most errors of which nobody has said why."""
    unexplained = [
        (cause.untagged.total, cause.audit) for facts in audits for cause in facts.causes
    ]
    n, each = max(unexplained, key=lambda pair: pair[0], default=(0, None))
    if each is None or not n:
        return None
    text = ngettext(
        "Say why %(evaluator)s is wrong on %(n)d run",
        "Say why %(evaluator)s is wrong on %(n)d runs",
        n,
    )
    reason = _("The cause tells whether the task data or the evaluation logic needs repair.")
    return NextStep(
        text % {"evaluator": each.evaluator.title, "n": n},
        reason,
        f"{each.errors_url}?tag={UNTAGGED}",
    )
