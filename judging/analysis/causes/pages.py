"""What pages show of the causes of errors, and the forms that tag one error or many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import QueryDict
from django.utils import formats
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.explanations import decided_by, expected_by
from judging.analysis.audits.matrices import Audit
from judging.analysis.audits.population import (
    JudgedItem,
    Shown,
    items_in_cells,
    read_cells,
    run_after,
)
from judging.analysis.audits.repairs import Decider, deciders
from judging.analysis.causes.tags import (
    REPAIRABLE,
    UNTAGGED,
    CauseAudit,
    Counted,
    Tagging,
    causes_of,
    with_tags,
)
from judging.analysis.pictures import MARGIN, WIDTH, draw_bar
from judging.models import Cause, CauseTag, EvaluatorVersion, Repair, Study
from judging.statistics.figures import Share
from judging.studies.forms import StatementForm, note_field
from runs.interface.pictures import as_picture, canvas, write
from runs.interface.sentences import worded
from runs.models import User
from runs.models.parsing import read_number

MAX_NOTE = 5000
MOST_DECIDERS = 5
TAG = "judging.add_causetag"
RATES: Mapping[str, Promise] = {
    "now": gettext_lazy("by the evaluator now"),
    "task_data": gettext_lazy("if the FNs tagged task data passed"),
    "evaluation_logic": gettext_lazy("if the FNs tagged evaluation logic passed"),
    "fn_repaired": gettext_lazy("if both passed"),
    "all_repaired": gettext_lazy("and the repairable FPs did not"),
    "reference": gettext_lazy("by the reference"),
}


class CauseForm(StatementForm):
    """Causes and the place of the repair; at least one cause, exactly one place."""

    KEYS = {"causes": "1234567890-", "repair": "qwe"}

    causes = forms.MultipleChoiceField(
        label=gettext_lazy("causes"),
        choices=Cause.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one.")},
    )
    repair = forms.ChoiceField(
        label=gettext_lazy("repair"),
        choices=Repair.choices,
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Choose where the repair belongs, or neither.")},
    )
    note = note_field(MAX_NOTE)

    @property
    def tagging(self) -> Tagging:
        return Tagging(
            causes=frozenset(Cause(cause) for cause in self.cleaned_data["causes"]),
            repair=Repair(self.cleaned_data["repair"]),
            note=self.cleaned_data["note"],
        )


class SelectedErrorsForm(CauseForm):
    """The same for the chosen rows of a cell; what is no error of the cell is not tagged."""

    def clean(self) -> None:
        if not self.chosen:
            raise forms.ValidationError(_("Select at least one run."))

    @property
    def chosen(self) -> list[int]:
        given = self.data.getlist("item") if isinstance(self.data, QueryDict) else []
        return [pk for text in given if (pk := read_number(text)) is not None]


@dataclass(frozen=True, slots=True)
class CauseBar:
    """How many errors have a cause, and where the runs of each kind are listed."""

    name: str
    fn: int
    fp: int
    fn_url: str
    fp_url: str

    @property
    def errors(self) -> int:
        return self.fn + self.fp


CAUSE_ROW, CAUSE_BAR = 34, 10
CAUSE_NUMBERS = 96
"""Kept free at the right, for the counts."""


def causes_picture(bars: Sequence[CauseBar], *, label: str, most: int = 0) -> SafeString:
    """One bar a cause, false negatives first and false positives after them, with their counts.

    Args:
        most: errors of the longest bar of all pictures beside this one; of its own by default.
    """
    height = CAUSE_ROW * len(bars) + MARGIN
    most = most or max((bar.errors for bar in bars), default=0) or 1
    with canvas(WIDTH, height) as (figure, axes):
        scale = (WIDTH - 2 * MARGIN - CAUSE_NUMBERS) / most
        titles: dict[str, str] = {}
        for index, bar in enumerate(bars):
            top = index * CAUSE_ROW
            write(axes, MARGIN, top + 15, bar.name, "name")
            left = float(MARGIN)
            counts = []
            for kind, count, url in (("fn", bar.fn, bar.fn_url), ("fp", bar.fp, bar.fp_url)):
                if not count:
                    continue
                counts.append(f"{formats.number_format(count)} {kind.upper()}")
                width = count * scale
                draw_bar(axes, left, top + 20, width, CAUSE_BAR, kind=kind, url=url)
                titles[url] = f"{bar.name}: {counts[-1]}"
                left += width + 1
            write(axes, left + 4, top + 29, " + ".join(counts), "words")
        return as_picture(figure, label, titles)


@dataclass(frozen=True)
class CausePanel:
    """The errors of one evaluator by cause and by repair, with where their runs are listed."""

    causes: CauseAudit
    deciders: Sequence[Decider]
    most: int
    """Errors of one cause, at most, of all evaluators: the pictures share one scale."""

    @cached_property
    def by_cause(self) -> list[CauseBar]:
        """Those without a tag last."""
        found = self.causes.by_cause.items()
        return [
            *(self._bar(cause.label, n, tag=f"cause.{cause}") for cause, n in found),
            self._bar(_("untagged"), self.causes.untagged, tag=UNTAGGED),
        ]

    @property
    def by_repair(self) -> list[CauseBar]:
        found = self.causes.by_repair.items()
        return [self._bar(repair.label, n, tag=f"repair.{repair}") for repair, n in found]

    @property
    def by_decider(self) -> list[CauseBar]:
        """What decided most of them, as far as that is stored; the others in one last row."""
        shown, rest = self.deciders[:MOST_DECIDERS], self.deciders[MOST_DECIDERS:]
        bars = [self._bar(each.name, Counted(each.fn, each.fp), rule=each.key) for each in shown]
        if rest:
            others = (sum(each.fn for each in rest), sum(each.fp for each in rest))
            bars.append(CauseBar(_("other"), *others, "", ""))
        return bars

    @property
    def errors(self) -> CauseBar:
        return self._bar(_("all errors"), self.causes.errors)

    def _bar(self, name: str | Promise, counted: Counted, **chosen: str) -> CauseBar:
        query = f"?{urlencode(chosen)}" if chosen else ""
        fn, fp = (f"{self.causes.audit.url(cell)}{query}" for cell in (Shown.FN, Shown.FP))
        return CauseBar(str(name), *counted, fn, fp)

    @property
    def rates(self) -> list[tuple[Promise, Share, bool]]:
        """The success rates that say something: those of repairs that nobody asks for are left
        out. The last says whether it is a rate as it stands, not one that would be.
        """
        rates = self.causes.rates
        left_out = {each.value for each in REPAIRABLE if not self.causes.by_repair[each].fn}
        if left_out:
            left_out.add("fn_repaired")
        if rates.all_repaired == rates.fn_repaired:
            left_out.add("all_repaired")
        return [
            (name, getattr(rates, key), key in ("now", "reference"))
            for key, name in RATES.items()
            if key not in left_out
        ]

    @property
    def picture(self) -> SafeString:
        """The errors by cause, drawn; every bar leads to its runs."""
        label = _("Errors of %(evaluator)s by cause") % {
            "evaluator": self.causes.audit.evaluator.title
        }
        bars = [bar for bar in self.by_cause if bar.errors]
        return causes_picture(bars, label=label, most=self.most)


def cause_panels(study: Study) -> list[CausePanel]:
    """The evaluators of a study that err, with their causes."""
    found = [each for each in causes_of(Audit(study)) if each.errors.total]
    decided = deciders(study, [each.audit.evaluator for each in found])
    counts = (n.total for each in found for n in (*each.by_cause.values(), each.untagged))
    most = max(counts, default=0)
    return [CausePanel(each, decided.get(each.audit.evaluator.pk, ()), most) for each in found]


class CausePane:
    """The form beside one run that is an error of an evaluator.

    Args:
        item: of one of the evaluator's cells.
        walk: query of the page around the form: study, evaluator and cell.
    """

    def __init__(
        self, study: Study, evaluator: EvaluatorVersion, item: JudgedItem, walk: Mapping[str, str]
    ) -> None:
        self.study, self.evaluator, self.item, self.error = study, evaluator, item, item.cell
        said = item.cause_tags.filter(evaluator_name=evaluator.name, error=item.cell)
        self.history = list(said.select_related("by", "evaluator").order_by("-at", "-id"))
        """Everything that was said of the error, the newest first."""
        self._current = next((tag for tag in self.history if tag.is_current), None)
        self.form = CauseForm.about(self._current)
        self.walk = urlencode(walk)

    @property
    def expected(self) -> str:
        return expected_by(self.item.said_details)

    @property
    def decided(self) -> str:
        """What made the verdict, as the list of a cell says it."""
        return worded(self.item.said_reason or "") or decided_by(self.item.said_details)

    @property
    def tag(self) -> CauseTag | None:
        return self._current if self._current and self._current.repair else None

    @property
    def undoable(self) -> CauseTag | None:
        """What was said last, unless that was itself an undoing."""
        return self._current if self._current and not self._current.is_undo else None


def cause_pane(
    *, study: Study, evaluator: EvaluatorVersion, run_id: UUID, walk: Mapping[str, str]
) -> CausePane | None:
    """The form for the run; None where it is no error of the evaluator in this study."""
    items = items_in_cells(study, evaluator, [Shown.FN, Shown.FP])
    item = items.filter(run=run_id).first()
    return None if item is None else CausePane(study, evaluator, item, walk)


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
    return run_after(with_tags(items, evaluator, UNTAGGED), after)
