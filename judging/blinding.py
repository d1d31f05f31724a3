"""Who is blind on which run. The only place that knows the rule.

A person is blind on a run while they are part of a study that holds the run and has not
settled it: as an annotator from the start, as an adjudicator until the decision. Blindness
follows from the part in the study, not from the role, so an engineer who annotates is as
blind as any annotator. Other people's labels open earlier, when a dispute opens; evaluators'
verdicts, rewards and outcomes open when the reference verdict stands.
"""

from django.db.models import Exists, OuterRef, Q, QuerySet

from judging.models import Assignment, StudyItem, StudyMember
from runs.models import User


class StudyPolicy:
    """The policy behind `runs.visibility.RunPolicy`."""

    def visible(self, user: User) -> Q:
        """Everything for those who may view runs; for others the runs of their own work.

        An annotator sees the runs that were handed to them, an adjudicator those in dispute
        or settled in their studies.
        """
        if user.has_perm("runs.view_run"):
            return Q()
        handed_out = Assignment.objects.filter(item__run=OuterRef("pk"), user=user)
        adjudicated = _items_of(user, StudyMember.Part.ADJUDICATOR).exclude(
            status=StudyItem.Status.OPEN
        )
        return Q(Exists(handed_out)) | Q(Exists(adjudicated))

    def blind(self, user: User) -> Q | None:
        if not user.study_parts.exists():
            return None
        return Q(Exists(_items_of(user).exclude(status=StudyItem.Status.SETTLED)))

    def anonymous(self, user: User) -> Q | None:
        if not user.study_parts.filter(study__hides_identity=True).exists():
            return None
        unsettled = _items_of(user).exclude(status=StudyItem.Status.SETTLED)
        return Q(Exists(unsettled.filter(study__hides_identity=True)))


def _items_of(user: User, part: str | None = None) -> QuerySet[StudyItem]:
    """Study items of the outer run in which the person has a part."""
    members = StudyMember.objects.filter(study=OuterRef("study"), user=user)
    if part:
        members = members.filter(part=part)
    return StudyItem.objects.filter(Exists(members), run=OuterRef("pk"))
