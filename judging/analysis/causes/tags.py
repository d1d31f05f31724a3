"""Why evaluators were wrong: errors tagged with their causes, summed and listed by their tags, and
what success rate a repair would give.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from django.db import transaction
from django.db.models import F, FilteredRelation, Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.matrices import Audit, EvaluatorAudit
from judging.analysis.audits.population import FAILURE, SUCCESS, Shown, items_in_cells
from judging.models import Cause, CauseTag, Evaluation, EvaluatorVersion, Repair, Study, StudyItem
from judging.models.causes import Batch
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Reason, Share
from runs.models import Task, User

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    from judging.analysis.audits.population import Said

    class SaidAndTagged(Said):
        """What `with_tags` adds to an item of a cell."""

        tag_causes: list[str] | None
        tag_repair: str | None
        tag_note: str | None

    TaggedItem = WithAnnotations[StudyItem, SaidAndTagged]
else:
    TaggedItem = StudyItem

UNTAGGED, TAGGED = "none", "any"
REPAIRABLE = (Repair.TASK_DATA, Repair.EVALUATION_LOGIC)
_FN = Q(
    error=CauseTag.Error.FN,
    item__verdict__verdict=SUCCESS,
    item__run__evaluations__verdict=Evaluation.Verdict.FAILED,
)
_FP = Q(
    error=CauseTag.Error.FP,
    item__verdict__verdict=FAILURE,
    item__run__evaluations__verdict=Evaluation.Verdict.PASSED,
)


class Counted(NamedTuple):
    fn: int = 0
    fp: int = 0

    @property
    def total(self) -> int:
        return self.fn + self.fp


class Rates:
    """Success rates over the runs that have a verdict of the evaluator."""

    def __init__(self, matrix: ConfusionMatrix, by_repair: Mapping[Repair, Counted]) -> None:
        passed = matrix.tp + matrix.fp
        data, logic = (by_repair[each] for each in REPAIRABLE)

        def share(count: int) -> Share:
            return Share(count, matrix.decided, Reason.NO_VERDICTS)

        self.now = share(passed)
        """By the evaluator as it is."""
        self.task_data = share(passed + data.fn)
        """If the FNs whose repair belongs to the task data passed."""
        self.evaluation_logic = share(passed + logic.fn)
        self.fn_repaired = share(passed + data.fn + logic.fn)
        """If every FN tagged as repairable passed."""
        self.all_repaired = share(passed + data.fn + logic.fn - data.fp - logic.fp)
        """If the FPs tagged as repairable did not pass either."""
        self.reference = matrix.reference_rate


class CauseAudit:
    """The errors of one evaluator by cause and by where the repair belongs.

    Args:
        sums: its errors by tag and kind.
    """

    def __init__(self, audit: EvaluatorAudit, sums: Counter[tuple[str, str]]) -> None:
        def counted(tag: str) -> Counted:
            return Counted(sums[tag, Shown.FN], sums[tag, Shown.FP])

        by_cause = {cause: counted(f"cause.{cause}") for cause in Cause}
        tagged = counted(TAGGED)
        self.audit = audit
        self.by_cause = {cause: n for cause, n in by_cause.items() if n.total}
        """Causes that occur, in their order. An error counts under each of its causes."""
        self.by_repair = {repair: counted(f"repair.{repair}") for repair in Repair}
        """All places, in their order; every tagged error counts once."""
        self.untagged = Counted(audit.matrix.fn - tagged.fn, audit.matrix.fp - tagged.fp)
        self.rates = Rates(audit.matrix, self.by_repair)

    @property
    def errors(self) -> Counted:
        return Counted(self.audit.matrix.fn, self.audit.matrix.fp)

    @property
    def repairable(self) -> Counted:
        """Errors whose repair belongs to the task data or to the evaluation logic."""
        return Counted(
            sum(self.by_repair[each].fn for each in REPAIRABLE),
            sum(self.by_repair[each].fp for each in REPAIRABLE),
        )


def causes_of(audit: Audit) -> list[CauseAudit]:
    """The causes of every evaluator that has a verdict, in one query more than the audit."""
    sums: defaultdict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
    for evaluator, error, causes, repair in _tags(audit.study):
        tags = (*(f"cause.{cause}" for cause in causes), f"repair.{repair}", TAGGED)
        sums[evaluator].update((tag, error) for tag in tags)
    return [CauseAudit(each, sums[each.evaluator.pk]) for each in audit.speaking]


def _tags(study: Study) -> Iterable[tuple[int, str, Sequence[str], str]]:
    """Current tags, once for every version of their evaluator that errs there now: evaluator,
    error, causes and repair.
    """
    tags = CauseTag.objects.filter(
        _FN | _FP,
        item__study=study,
        is_current=True,
        item__run__evaluations__is_current=True,
        item__run__evaluations__evaluator__name=F("evaluator_name"),
    ).exclude(Q(repair="") | Task.objects.is_infeasible("item__run__task"))
    return tags.order_by().values_list(
        "item__run__evaluations__evaluator", "error", "causes", "repair"
    )


def read_tag(text: str) -> str:
    """The tag of an address: `cause.url_form`, `repair.task_data`, `none` or `any`; else all."""
    tags = (*(f"cause.{each}" for each in Cause), *(f"repair.{each}" for each in Repair))
    return text if text in (UNTAGGED, TAGGED, *tags) else ""


def tag_words(tag: str) -> str:
    """What errors with that tag are called; empty for all errors."""
    return str(_known(tag)[0])


def _known(tag: str) -> tuple[str | Promise, Q]:
    """A tag in words, and the condition on errors that `with_tags` gave their tags."""
    kind, _dot, value = tag.partition(".")
    if kind == "cause":
        # Text, for SQLite cannot look into a list. No key is part of another one in quotes.
        return Cause(value).label, Q(tag__causes__icontains=f'"{value}"')
    if kind == "repair":
        return Repair(value).label, Q(tag__repair=value)
    return {
        UNTAGGED: (_("untagged"), Q(tag__isnull=True) | Q(tag__repair="")),
        TAGGED: (_("tagged"), Q(tag__repair__gt="")),
    }.get(tag, ("", Q()))


def with_tags(
    items: QuerySet[StudyItem], evaluator: EvaluatorVersion, wanted: str = ""
) -> QuerySet[TaggedItem]:
    """The items of a cell with what their errors are tagged with: all, or those with a tag.

    Adds `tag_causes`, `tag_repair` and `tag_note`, None where there is no tag.
    """
    current = Q(
        cause_tags__evaluator_name=evaluator.name,
        cause_tags__is_current=True,
        cause_tags__error=F("cell"),
    )
    tagged = items.annotate(tag=FilteredRelation("cause_tags", condition=current)).annotate(
        tag_causes=F("tag__causes"), tag_repair=F("tag__repair"), tag_note=F("tag__note")
    )
    return cast("QuerySet[TaggedItem]", tagged.filter(_known(wanted)[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagging:
    """What an auditor says of an error; without causes and repair: nothing (any more)."""

    causes: frozenset[Cause] = frozenset()
    repair: Repair | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if bool(self.causes) != bool(self.repair):
            raise ValueError("a tag says both the causes and where the repair belongs")

    @property
    def content(self) -> dict[str, object]:
        return {
            "causes": [cause.value for cause in Cause if cause in self.causes],
            "repair": self.repair.value if self.repair else "",
            "note": self.note,
        }


@transaction.atomic
def tag_errors(
    *,
    user: User,
    study: Study,
    evaluator: EvaluatorVersion,
    item_ids: Iterable[int],
    tagging: Tagging,
) -> Batch:
    """Tag those of the items that are FN or FP of the evaluator, all in one batch.

    What an item said before stays in its history; a tag that would say the same is not made.
    """
    wanted = set(item_ids)
    errors = _errors(study, evaluator, wanted)
    said = CauseTag.objects.filter(
        item__in=errors, evaluator_name=evaluator.name, is_current=True
    ).select_related("replaces")
    current = {(tag.item_id, tag.error): tag for tag in said}
    batch = uuid.uuid4()
    tags = [
        CauseTag(
            item_id=item,
            evaluator_name=evaluator.name,
            evaluator=evaluator,
            error=error,
            by=user,
            batch=batch,
            replaces=current.get((item, error)),
            **tagging.content,
        )
        for item, error in errors.items()
    ]
    changed = CauseTag.objects.append(tags)
    return Batch(batch, changed, left_out=len(wanted) - len(errors))


@transaction.atomic
def undo_tags(*, user: User, study: Study, batch: uuid.UUID, item: StudyItem | None = None) -> int:
    """Give the errors of a batch (or that of one item) the tags from before, and say of how many.

    Errors that somebody has tagged again since are left as they are.
    """
    items = StudyItem.objects.filter(study=study, cause_tags__batch=batch)
    if item is not None:
        items = items.filter(pk=item.pk)
    locked = list(items.select_for_update().order_by("pk").values_list("pk", flat=True))
    return CauseTag.objects.filter(batch=batch, item__in=locked).undo(user, is_undo=True)


def _errors(study: Study, evaluator: EvaluatorVersion, wanted: set[int]) -> dict[int, str]:
    """Those of the items that are errors, by which kind; locked until the tags are stored."""
    items = StudyItem.objects.select_for_update().filter(study=study, pk__in=wanted)
    locked = list(items.order_by("pk").values_list("pk", flat=True))
    cells = items_in_cells(study, evaluator, [Shown.FN, Shown.FP]).order_by("pk")
    return dict(cells.filter(pk__in=locked).values_list("pk", "cell"))
