"""Annotators' remarks on single steps."""

from django.db import transaction

from judging.models import Assignment, StepComment, StudyItem
from judging.studies.labels.services import NotAnnotatorError
from judging.studies.queue.assignment import is_annotator
from runs.models import User


@transaction.atomic
def add_comment(*, assignment: Assignment, user: User, step_index: int, text: str) -> StepComment:
    """A remark on a step, for the person's own eyes until the run's labels open.

    Raises:
        NotAnnotatorError: the study is closed, or the person has left it.
    """
    study = assignment.item.study
    if not study.is_open or not is_annotator(study=study, user=user):
        raise NotAnnotatorError
    return StepComment.objects.create(
        item=assignment.item,
        author=user,
        is_repeat=assignment.is_repeat,
        step_index=step_index,
        text=text,
    )


def remove_comment(*, comment_id: int, user: User) -> None:
    """Take one's own remark away, while nobody else can have seen it."""
    StepComment.objects.filter(
        pk=comment_id, author=user, item__status=StudyItem.Status.OPEN
    ).delete()
