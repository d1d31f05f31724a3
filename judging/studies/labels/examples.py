"""Settled runs beside the guidelines: how the study judged what the person has judged already."""

from django.db.models import Exists, OuterRef, Prefetch

from judging.models import Assignment, Label, ReferenceVerdict, StudyItem
from judging.studies.access import record_unblindings
from judging.studies.blinding import is_blinded_to, items_with_open_labels
from runs.models import User

SHOWN, LOOKED_AT = 3, 20


def examples_beside(assignment: Assignment, user: User) -> list[StudyItem]:
    """Settled runs of other tasks that the person labelled in this study, the newest of each.

    A success and a failure are among them where there are both.

    None of a run that the person is to judge, or is judging again, anywhere. That they have seen
    these is recorded: none of them is shown to them again as a hidden repeat. Each has
    `own_labels`.
    """
    task = assignment.item.run.task
    own = Label.objects.independent().filter(annotator=user)
    settled = items_with_open_labels(user).filter(
        Exists(own.filter(item=OuterRef("pk"))),
        study=assignment.item.study_id,
        status=StudyItem.Status.SETTLED,
    )
    others = settled.exclude(run__task=task.pk).exclude(
        run__task__external_id=task.external_id, run__task__task_set__name=task.task_set.name
    )
    newest = list(
        others.exclude(is_blinded_to("run", user))
        .select_related("verdict", "run__task")
        .prefetch_related(Prefetch("labels", own, to_attr="own_labels"))
        .order_by("-verdict__decided_at", "-pk")[:LOOKED_AT]
    )
    by_task: dict[str, StudyItem] = {}
    for item in newest:
        by_task.setdefault(item.run.task.external_id, item)
    found = _of_both_verdicts(list(by_task.values()))
    record_unblindings(user=user, items=found, reason="examples beside the guidelines")
    return found


def _of_both_verdicts(items: list[StudyItem]) -> list[StudyItem]:
    """As many as are shown, in their order: the first of each verdict, then the others."""
    kinds = ReferenceVerdict.Verdict
    first_of: dict[str, StudyItem] = {}
    for item in items:
        first_of.setdefault(item.verdict.verdict, item)
    both = [first_of[each] for each in (kinds.SUCCESS, kinds.FAILURE) if each in first_of]
    chosen = [*both, *(item for item in items if item not in both)][:SHOWN]
    return sorted(chosen, key=items.index)
