"""Tagging errors of evaluators with their causes, and taking that back."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from judging.analysis.audits.population import Shown, items_in_cells
from judging.models import Cause, CauseTag, EvaluatorVersion, Repair, Study, StudyItem
from judging.models.causes import Batch
from runs.models import User


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
