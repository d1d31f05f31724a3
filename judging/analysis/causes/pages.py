"""What pages show of the causes of errors, made ready for their templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.causes import CauseAudit, Counted, Rates, causes_of
from judging.analysis.audits.causes_filter import UNTAGGED, TagFilter, read_tag_filter, with_tags
from judging.analysis.audits.causes_picture import CauseBar, causes_picture
from judging.analysis.audits.cells import Shown, items_in_cells, read_cells
from judging.analysis.causes.forms import CauseForm
from judging.models import CauseTag, EvaluatorVersion, Repair, Study, StudyItem
from judging.statistics.figures import Share
from runs.models import User

TAG = "judging.add_causetag"
RATES: Mapping[str, Promise] = {
    "now": gettext_lazy("by the evaluator now"),
    "task_data": gettext_lazy("if the FNs tagged task data passed"),
    "evaluation_logic": gettext_lazy("if the FNs tagged evaluation logic passed"),
    "fn_repaired": gettext_lazy("if both passed"),
    "all_repaired": gettext_lazy("and the repairable FPs did not"),
    "reference": gettext_lazy("by the reference"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRow:
    """One line of the table: a number for each kind of error, each with where its runs are."""

    name: str | Promise
    kind: str
    """cause, repair, untagged or all."""
    counted: Counted
    fn_url: str
    fp_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CausePanel:
    """The causes of one evaluator."""

    causes: CauseAudit
    by_cause: Sequence[CauseRow]
    by_repair: Sequence[CauseRow]
    untagged: CauseRow
    errors: CauseRow
    rates: Sequence[tuple[str | Promise, Share, bool]]
    """Name, share, and whether it is a rate as it stands, not one that would be."""

    @property
    def data(self) -> Counted:
        """Errors whose repair belongs to the task data."""
        return self.causes.by_repair[Repair.TASK_DATA]

    @property
    def logic(self) -> Counted:
        """Errors whose repair belongs to the evaluation logic."""
        return self.causes.by_repair[Repair.EVALUATION_LOGIC]

    @property
    def picture(self) -> SafeString:
        """The errors by cause, drawn; every bar leads to its runs."""
        rows = [*self.by_cause, self.untagged]
        bars = [
            CauseBar(
                name=str(row.name),
                fn=row.counted.fn,
                fp=row.counted.fp,
                fn_url=row.fn_url,
                fp_url=row.fp_url,
            )
            for row in rows
            if row.counted.total
        ]
        return causes_picture(bars, label=_("Errors of %(evaluator)s by cause") % self._named)

    @property
    def _named(self) -> dict[str, str]:
        return {"evaluator": str(self.causes.audit.evaluator)}


def cause_panels(study: Study) -> list[CausePanel]:
    """The evaluators of a study that err, with their causes."""
    return [_panel(study, each) for each in causes_of(study) if each.errors.total]


def _panel(study: Study, causes: CauseAudit) -> CausePanel:
    def row(name: str | Promise, kind: str, counted: Counted, address: str) -> CauseRow:
        def url(cell: Shown) -> str:
            path = reverse(
                "judging:audit_cells", args=[study.pk, causes.audit.evaluator.pk, cell.value]
            )
            return f"{path}?{urlencode({'tag': address})}" if address else path

        return CauseRow(
            name=name, kind=kind, counted=counted, fn_url=url(Shown.FN), fp_url=url(Shown.FP)
        )

    return CausePanel(
        causes=causes,
        by_cause=[
            row(cause.label, "cause", n, f"cause.{cause}") for cause, n in causes.by_cause.items()
        ],
        by_repair=[
            row(repair.label, "repair", n, f"repair.{repair}")
            for repair, n in causes.by_repair.items()
        ],
        untagged=row(gettext_lazy("untagged"), "untagged", causes.untagged, UNTAGGED),
        errors=row(gettext_lazy("all errors"), "all", causes.errors, ""),
        rates=_rates(causes.rates, causes.by_repair),
    )


def _rates(
    rates: Rates, by_repair: Mapping[Repair, Counted]
) -> list[tuple[str | Promise, Share, bool]]:
    """The rates that say something: those of repairs that nobody asks for are left out."""
    shown = dict(RATES)
    if not (by_repair[Repair.TASK_DATA].fn and by_repair[Repair.EVALUATION_LOGIC].fn):
        del shown["fn_repaired"]
    for repair in (Repair.TASK_DATA, Repair.EVALUATION_LOGIC):
        if not by_repair[repair].fn:
            del shown[repair.value]
    if rates.all_repaired == rates.fn_repaired:
        del shown["all_repaired"]
    return [(name, getattr(rates, key), key in ("now", "reference")) for key, name in shown.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class CausePane:
    """The form beside one run that is an error of an evaluator."""

    study: Study
    evaluator: EvaluatorVersion
    item: StudyItem
    error: str
    form: CauseForm
    history: Sequence[CauseTag]
    """Everything that was said of the error, the newest first."""
    walk: str
    """Query of the page around the form: study, evaluator and cell."""

    @property
    def tag(self) -> CauseTag | None:
        """What the error is tagged with now."""
        return next((tag for tag in self.history if tag.is_current and tag.repair), None)

    @property
    def undoable(self) -> CauseTag | None:
        """What was said last, unless that was itself an undoing."""
        return next((tag for tag in self.history if tag.is_current and not tag.is_undo), None)


def cause_pane(
    *, study: Study, evaluator: EvaluatorVersion, run_id: UUID, walk: Mapping[str, str]
) -> CausePane | None:
    """The form for the run; None where it is no error of the evaluator in this study."""
    items = items_in_cells(study, evaluator, [Shown.FN, Shown.FP])
    item = items.filter(run=run_id).first()
    if item is None:
        return None
    history = list(
        item.cause_tags.filter(evaluator_name=evaluator.name, error=item.cell)
        .select_related("by", "evaluator")
        .order_by("-at", "-id")
    )
    current = next((tag for tag in history if tag.is_current), None)
    return CausePane(
        study=study,
        evaluator=evaluator,
        item=item,
        error=item.cell,
        form=CauseForm.about(current),
        history=history,
        walk=urlencode(walk),
    )


def walked_pane(user: User, walk: Mapping[str, str], run_id: UUID) -> CausePane | None:
    """The form for a run opened from a cell, for those who may tag."""
    if not walk.keys() >= {"study", "audit", "cell"} or not user.has_perm(TAG):
        return None
    study = Study.objects.filter(pk=walk["study"]).first()
    evaluator = EvaluatorVersion.objects.filter(pk=walk["audit"]).first()
    if study is None or evaluator is None:
        return None
    return cause_pane(study=study, evaluator=evaluator, run_id=run_id, walk=walk)


def next_untagged(study: Study, evaluator: EvaluatorVersion, cells: str, after: int) -> UUID | None:
    """The next run of the cells that is an untagged error, from the first again after the last."""
    try:
        wanted = [cell for cell in read_cells(cells) if cell in (Shown.FN, Shown.FP)]
    except ValueError:
        wanted = []
    items = items_in_cells(study, evaluator, wanted or [Shown.FN, Shown.FP])
    untagged = with_tags(items, evaluator, TagFilter(UNTAGGED)).exclude(position=after)
    following = untagged.filter(position__gt=after).values_list("run", flat=True).first()
    return following or untagged.filter(Q(position__lt=after)).values_list("run", flat=True).first()


def tag_filter(text: str) -> TagFilter:
    """The filter of an address; none for what is none."""
    try:
        return read_tag_filter(text)
    except ValueError:
        return TagFilter()
