"""What must stay hidden from a person at this moment, and a site that differs in it alone.

Whether somebody can still give or revise a label is found by trying, not by the rules under test:
whatever they manage to do, they must not have been told before what others say of that run.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from django.db.models import Q, QuerySet
from django.utils import timezone

from judging.models import (
    Assignment,
    Dispute,
    DisputeMessage,
    Label,
    ReferenceVerdict,
    StepComment,
    StudyItem,
    StudyMember,
)
from judging.studies.disputes.services import CLEAR, closing_row
from judging.studies.labels import services as label_services
from judging.studies.labels.services import LabelRefusedError, Submission, submit_label
from judging.studies.services import MemberError, set_member
from runs.models import AgentConfiguration, Run, User
from tests.judging.factories import make_submission
from tests.judging.studies.blind_world import turn_run
from tests.judging.studies.label_states.site import parts_of
from tests.judging.studies.statements import undone

Status, State = StudyItem.Status, Assignment.State
OPPOSITE = {
    "success": "failure",
    "failure": "success",
    "unsure": "not_executable",
    "not_executable": "unsure",
}


def judged_by(user: User) -> set[int]:
    """The items to which the person can still give a label, or whose label they can revise."""
    found: set[int] = set()
    for part in parts_of(user):
        if part.part == StudyMember.Part.ANNOTATOR:
            items = part.study.items.all()
            found.update(item.pk for item in items if any(_attempts(part, item, user)))
    return found


def _attempts(part: StudyMember, item: StudyItem, user: User) -> Iterator[bool]:
    """Whether each way to say something of the run succeeds; none leaves anything behind."""
    for label in Label.objects.filter(item=item, annotator=user):
        change = make_submission(OPPOSITE[label.success], version=label.revisions.count())
        assignment = Assignment.objects.get(item=item, user=user, is_repeat=label.is_repeat)
        yield _succeeds(part, partial(label_services.undo_label, label=label, user=user))
        yield _succeeds(part, partial(_submit, assignment, user, change))
    for assignment in Assignment.objects.filter(item=item, user=user):
        yield _succeeds(part, partial(_submit, assignment, user, make_submission()))
    yield _succeeds(part, partial(_label_anew, item, user))


def _succeeds(part: StudyMember, attempt: Callable[[], object]) -> bool:
    """Whether it does for somebody who is back in the study, while nobody else holds a place."""
    with undone():
        try:
            set_member(study=part.study, user=part.user, part=StudyMember.Part.ANNOTATOR)
            held = Assignment.objects.filter(item__study=part.study).exclude(user=part.user)
            held.update(leased_until=timezone.now())
            attempt()
        except (LabelRefusedError, MemberError):
            return False
    return True


def _submit(assignment: Assignment, user: User, submission: Submission) -> None:
    submit_label(assignment=assignment, user=user, submission=submission)


def _label_anew(item: StudyItem, user: User) -> None:
    now = timezone.now()
    assignment, _ = Assignment.objects.get_or_create(
        item=item, user=user, is_repeat=False, defaults={"leased_until": now, "opened_at": now}
    )
    _submit(assignment, user, make_submission())


def still_undecided(user: User) -> set[int]:
    """The items whose verdict the person can still bring about, by a label or in a dispute."""
    waiting = ~Q(status=Status.SETTLED)
    studies = [part.study_id for part in parts_of(user)]
    again = Q(assignments__user=user, assignments__is_repeat=True, assignments__state=State.LEASED)
    items = StudyItem.objects.filter(waiting | again, study__in=studies)
    return set(items.values_list("pk", flat=True))


def turn_round(user: User) -> bool:
    """Make everything say the opposite that must be hidden from the person now.

    Returns:
        whether there is anything.
    """
    judged = judged_by(user)
    undecided = still_undecided(user) | judged
    if not undecided:
        return False
    runs = set(StudyItem.objects.filter(pk__in=judged).values_list("run", flat=True))
    of_items = Run.objects.filter(study_items__in=undecided)
    roots = {run.root for run in of_items}
    families = Run.objects.filter(Q(pk__in=roots) | Q(family__in=roots))
    _turn_verdicts(user, families)
    for item in StudyItem.objects.filter(run__in=runs):
        _turn_judgements(item, user)
    agents = AgentConfiguration.objects.filter(runs__in=families).distinct()
    for agent in agents.exclude(runs__in=Run.objects.exclude(pk__in=families.values("pk"))):
        AgentConfiguration.objects.filter(pk=agent.pk).update(
            name=f"another agent {agent.pk}", model=f"another model {agent.pk}", model_names=[]
        )
    for run in families:
        turn_run(run)
    return True


def _turn_verdicts(user: User, families: QuerySet[Run]) -> None:
    """Reference verdicts of the runs, but where the person's own label tells them."""
    own = Label.objects.filter(annotator=user).values("item")
    for verdict in ReferenceVerdict.objects.filter(run__in=families).exclude(item__in=own):
        ReferenceVerdict.objects.filter(pk=verdict.pk).update(
            verdict=OPPOSITE[verdict.verdict], rationale="the other way round"
        )


def _turn_judgements(item: StudyItem, user: User) -> None:
    """The others have said the opposite of the run, at other times, and what follows from it."""
    others = Label.objects.filter(item=item).exclude(annotator=user)
    for label in others:
        Label.objects.filter(pk=label.pk).update(
            success=OPPOSITE[label.success],
            rationale="something else",
            seconds=label.seconds + 77,
            submitted_at=label.submitted_at - timedelta(hours=2),
        )
    StepComment.objects.filter(item=item).exclude(author=user).update(text="another remark")
    Assignment.objects.filter(item=item).exclude(user=user).update(
        draft={"rationale": "another draft"}, skip_reason="another reason"
    )
    messages = DisputeMessage.objects.filter(dispute__item=item).exclude(author=user)
    messages.update(text="another message")
    if not ReferenceVerdict.objects.filter(item=item, decided_by__isnull=False).exists():
        _close_again(item)


def _close_again(item: StudyItem) -> None:
    """Settled where the labels agree now, disputed where they do not, since the same moment."""
    said = set(Label.objects.independent().filter(item=item).values_list("success", flat=True))
    agreed = said.pop() if len(said) == 1 else None
    became = Status.SETTLED if agreed in CLEAR else Status.DISPUTED
    if item.status in (Status.OPEN, became):
        return
    verdict = ReferenceVerdict.objects.filter(item=item).first()
    dispute = Dispute.objects.filter(item=item).first()
    at = verdict.decided_at if verdict else dispute.opened_at if dispute else timezone.now()
    for row in filter(None, (verdict, dispute)):
        row.delete()
    closing_row(item=item, agreed=agreed, now=at).save(force_insert=True)
    Dispute.objects.filter(item=item).update(opened_at=at)
    item.save(update_fields=["status"])
