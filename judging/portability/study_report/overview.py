"""The first page of a report: protocol, agreement, matrices, figures, causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from judging.analysis.audits.agreement import Agreement, Pair, agreement_of
from judging.analysis.audits.figures import BY_KEY, QUESTIONS, Measured, draw, figures_of
from judging.analysis.audits.matrices import Audit, Resampled, corrected_rates
from judging.analysis.audits.population import LEFT_OUT
from judging.analysis.audits.verdict_sources import stubs_of
from judging.analysis.causes.sums import CauseAudit, causes_of
from judging.analysis.pictures_bars import CauseBar, causes_picture
from judging.models import Cause, ReferenceVerdict, Repair, Study
from judging.portability.study_report.choices import People, evaluator_page
from judging.studies.protocols import cause_choices, render_markdown


def overview(study: Study, audit: Audit, intervals: Resampled, people: People) -> dict[str, Any]:
    """What the page shows; figures come from where the site's own pages have them."""
    pages = pages_of(audit)
    newest = study.guidelines.order_by("-version").first()
    origins = dict(ReferenceVerdict.Origin.choices)
    groups = audit.population.groups
    return {
        "study": study,
        "audit": audit,
        "guideline": newest,
        "guideline_html": render_markdown(newest.text) if newest else "",
        "causes": [name for _key, name in cause_choices(study.taxonomy)],
        "members": [
            (people(member.user.username), member.get_part_display())
            for member in study.members.select_related("user").order_by("part", "user__username")
        ],
        "stubs": stubs_of(study),
        "n_runs": sum(groups.values()),
        "origins": [(origins[key], n) for key, n in sorted(audit.population.origins.items()) if n],
        "left_out": [(words, n) for group, words in LEFT_OUT.items() if (n := groups.get(group))],
        "agreement": named(agreement_of(study), people),
        "evaluators": [(pages[each.evaluator.pk], each) for each in audit.speaking],
        "figures": [
            (kind, [(found, _cells(pages, found)) for found in row])
            for kind, row in figures_of(audit, intervals)
        ],
        "shares_tasks": intervals.shares_tasks,
        "corrected": corrected_rates(audit),
        "pictures": [
            (BY_KEY[key], question, draw(audit, key, intervals, partial(_cells, pages)))
            for key, question in QUESTIONS.items()
            if audit.speaking
        ],
        "explained": [
            _causes(found, pages[found.audit.evaluator.pk])
            for found in causes_of(study, audit)
            if found.errors.total
        ],
    }


def pages_of(audit: Audit) -> dict[int, str]:
    """The page of each evaluator that has a verdict, by its key."""
    return {
        each.evaluator.pk: evaluator_page(number)
        for number, each in enumerate(audit.speaking, start=1)
    }


def named(agreement: Agreement, people: People) -> Agreement:
    """The same with everybody under the name that the report gives them."""

    def pair(found: Pair) -> Pair:
        return replace(found, first=people(found.first), second=people(found.second))

    return replace(
        agreement,
        annotators=[people(name) for name in agreement.annotators],
        pairs=[pair(found) for found in agreement.pairs],
        repeats=[pair(found) for found in agreement.repeats],
    )


def _cells(pages: Mapping[int, str], found: Measured) -> str:
    """Where the runs behind a figure are listed."""
    return f"{pages[found.audit.evaluator.pk]}#{found.measure.cells.split('-')[0]}"


def _causes(found: CauseAudit, page: str) -> dict[str, Any]:
    """Why one evaluator was wrong, drawn and in numbers."""
    causes = [(str(Cause(cause).label), n.fn, n.fp) for cause, n in found.by_cause.items()]
    bars = [
        CauseBar(name=name, fn=fn, fp=fp, fn_url=f"{page}#fn", fp_url=f"{page}#fp")
        for name, fn, fp in causes
    ]
    return {
        "page": page,
        "found": found,
        "drawn": causes_picture(bars, label=str(found.audit.evaluator)) if bars else None,
        "causes": causes,
        "repairs": [
            (str(Repair(repair).label), n.fn, n.fp)
            for repair, n in found.by_repair.items()
            if n.total
        ],
    }
