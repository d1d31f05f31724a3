"""What the audit page shows, made ready for its template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.cells import Shown
from judging.analysis.audits.matrices import Audit, EvaluatorAudit, audit_of
from judging.analysis.audits.measures import BY_KEY, MEASURES, Measure, Measured, measure
from judging.analysis.audits.population import FAILURE, INFEASIBLE, SUCCESS, Group
from judging.analysis.audits.resampling import Resampled
from judging.analysis.pictures import IntervalRow, figure_row, interval_picture
from judging.models import ReferenceVerdict, Study, StudyItem
from judging.statistics.figures import Share
from judging.studies.access import studies_hidden_from
from runs.models import User

QUESTIONS: dict[str, Promise] = {
    "fn_share": _("Which evaluator misses the most runs?"),
    "fnr": _("Which evaluator misses the most successes?"),
    "fpr": _("Which evaluator lets failures pass?"),
}
"""The pictures of an audit, by the figure that they draw."""

LEFT_OUT: dict[Group, Promise] = {
    Group.INFEASIBLE: _("with an infeasible task"),
    Group.NOT_EXECUTABLE: _("not executable"),
    Group.UNSETTLED: _("without a reference verdict yet"),
}


Figures = Sequence[tuple[Measure, Sequence[Measured]]]
"""Each figure with what it is for each evaluator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellShown:
    """One cell of a matrix: a number, and its share of all runs."""

    key: str
    share: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The matrix of one evaluator."""

    audit: EvaluatorAudit
    success: Sequence[CellShown]
    failure: Sequence[CellShown]
    none: CellShown


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A picture with its question and the figure it draws."""

    measure: Measure
    question: Promise
    picture: SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """What stands first on the page; pictures, agreement and the intervals that take resampling
    are fetched after it.
    """

    audit: Audit
    panels: Sequence[Panel]
    figures: Figures
    origins: Sequence[tuple[str | Promise, int]]
    left_out: Sequence[tuple[Group, str | Promise, int]]


def audit_page(study: Study) -> AuditPage:
    """The page of a study, in a number of queries that does not depend on its runs."""
    audit = audit_of(study)
    groups = audit.population.groups
    origin_names = dict(ReferenceVerdict.Origin.choices)
    return AuditPage(
        audit=audit,
        panels=[panel_of(each) for each in audit.speaking],
        figures=figures_of(audit),
        origins=[
            (origin_names[key], n) for key, n in sorted(audit.population.origins.items()) if n
        ],
        left_out=[(group, name, n) for group, name in LEFT_OUT.items() if (n := groups.get(group))],
    )


def figures_of(audit: Audit, resampled: Resampled | None = None) -> Figures:
    """All figures of the evaluators that speak, side by side."""
    return [(kind, _measured(audit, kind, resampled)) for kind in MEASURES]


def draw(audit: Audit, key: str, resampled: Resampled) -> Drawn:
    """The picture of one figure over all evaluators."""
    kind = BY_KEY[key]
    rows = [_interval_row(found, audit.study) for found in _measured(audit, kind, resampled)]
    question = QUESTIONS[key]
    label = f"{question} {kind.name} = {kind.formula}"
    picture = interval_picture(rows, label=label, meaning="fp" if key == "fpr" else "fn")
    return Drawn(measure=kind, question=question, picture=picture)


def cells_url(study: Study, evaluator_id: int, cells: str) -> str:
    """Where the runs behind a number are listed."""
    return reverse("judging:audit_cells", args=[study.pk, evaluator_id, cells])


def _measured(audit: Audit, kind: Measure, resampled: Resampled | None) -> list[Measured]:
    return [measure(each, kind, resampled) for each in audit.speaking]


def panel_of(audit: EvaluatorAudit) -> Panel:
    """The matrix of one evaluator with the shares of its cells."""

    def shown(cell: Shown, count: int) -> CellShown:
        return CellShown(key=cell.value, share=Share(count, audit.matrix.runs))

    matrix = audit.matrix
    return Panel(
        audit=audit,
        success=[shown(Shown.TP, matrix.tp), shown(Shown.FN, matrix.fn)],
        failure=[shown(Shown.FP, matrix.fp), shown(Shown.TN, matrix.tn)],
        none=shown(Shown.NONE, matrix.no_verdict),
    )


def _interval_row(found: Measured, study: Study) -> IntervalRow:
    return figure_row(
        str(found.audit.evaluator),
        found.value,
        found.interval,
        counted=found.share,
        by_task=found.by_task,
        url=cells_url(study, found.audit.evaluator.pk, found.measure.cells),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStudy:
    """A study and how far its judgement has come; no figure of it while it is hidden."""

    study: Study
    is_hidden: bool
    runs: int
    counted: int
    disputed: int


def listed_studies(user: User, studies: Sequence[Study]) -> list[ListedStudy]:
    """The rows of these studies, in two queries."""
    keys = [study.pk for study in studies]
    hidden = set(studies_hidden_from(user).filter(pk__in=keys).values_list("pk", flat=True))
    counted = Q(verdict__verdict__in=[SUCCESS, FAILURE]) & ~INFEASIBLE
    items = StudyItem.objects.filter(study__in=keys).order_by()
    rows = {
        key: (runs, n_counted, n_disputed)
        for key, runs, n_counted, n_disputed in items.values_list("study").annotate(
            runs=Count("pk"),
            counted=Count("pk", filter=counted),
            disputed=Count("pk", filter=Q(status=StudyItem.Status.DISPUTED)),
        )
    }
    found = []
    for study in studies:
        is_hidden = study.pk in hidden
        runs, n_counted, n_disputed = rows.get(study.pk, (0, 0, 0))
        found.append(
            ListedStudy(
                study=study,
                is_hidden=is_hidden,
                runs=runs,
                counted=0 if is_hidden else n_counted,
                disputed=0 if is_hidden else n_disputed,
            )
        )
    return found
