"""Who is blinded to which run. The only place that knows the rule.

A person is blinded to a run while they are part of an open study that holds the run and has not
settled it: as an annotator from the start, as an adjudicator until the decision. This follows
from the role in the study, not from the account's role, so an engineer who annotates is as
blinded as any annotator; and it outlasts the role, so nobody peeks by leaving and coming back. A
hidden repeat of a run blinds its annotator again while it lasts.

Two degrees. Evaluators' verdicts, rewards and outcomes open when the reference verdict stands.
Other people's labels open earlier, when a dispute opens, to its annotators and adjudicators;
but never to somebody who still owes the same run a label in another study.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from judging.models import Assignment, Dispute, Label, Study, StudyItem, StudyMember
from judging.models.labels import DisputeQuerySet
from runs.models import Run, User
from runs.models.visibility import NewestRuns, Visibility, visibility_of

LOOKED_UP = 500
"""Runs that are written into a condition one by one; of more, the database works them out."""
REPEATED_NOW = Q(is_repeat=True, state=Assignment.State.LEASED)
"""Assignments that are hidden repeats under way."""


class StudyPolicy:
    """The policy behind `runs.models.visibility.RunPolicy`.

    What is visible is one list that the database works out once per query. What is hidden is a
    list at hand where little waits for the person, and else a question to an index for each run
    that comes into the question.
    """

    def visible(self, user: User, only: Collection[UUID] | None = None) -> Q:
        """Everything for those who may view runs; for others the runs of their own work.

        An annotator sees the runs that were assigned to them or that they labelled elsewhere (an
        import brought the label), an adjudicator those in dispute or settled, all only while they
        are part of the study.
        """
        if user.has_perm("runs.view_run"):
            return Q() if only is None else Q(pk__among=list(only))
        own = [
            (places if only is None else places.filter(**{f"{run}__among": only})).values(run)
            for run, places in _own_places(user)
        ]
        # One list and no choice between lists, which would have the database look at every run.
        own_runs = own[0].union(*own[1:], all=True)
        if only is not None and len(only) > 1:
            # Looked up now: as part of a query, PostgreSQL goes through a whole study for each.
            return Q(pk__among=sorted({run for (run,) in own_runs.values_list("item__run")}))
        own_q = Q(pk__in=own_runs)
        return own_q if only is None else Q(pk__among=list(only)) & own_q

    def newest(self, user: User, most: int) -> NewestRuns | None:
        """Of somebody's own work the newest runs, by the ages that items keep."""
        if user.has_perm("runs.view_run"):
            return None
        undated = StudyItem.objects.filter(run_created_at=None, study__members__user=user)
        # An older version, at work beside this one, stores none.
        kept = "__created_at" if undated.exists() else "_created_at"
        found, ends = set(), []
        for run, places in _own_places(user):
            age = f"{run}{kept}"
            rows = list(places.order_by(f"-{age}", f"-{run}_id").values_list(age, run)[:most])
            found.update(rows)
            ends += rows[most - 1 :]
        if ends:  # of lists that go on: what is older than one of them may lack runs of that list
            oldest = max(ends)
            found = {row for row in found if row >= oldest}
        return NewestRuns([run for _age, run in found], has_older=bool(ends))

    def blind(self, user: User) -> Q | None:
        """Runs under judgement, their retries and reruns, and what they were retried or rerun of.

        The same agent on the same task mostly ends the same way, and its page names the agent.
        """
        return self.hidden(user)[0]

    def anonymous(self, user: User) -> Q | None:
        """The same, in studies that hide who acted."""
        return self.hidden(user)[1]

    def hidden(self, user: User, only: Collection[UUID] | None = None) -> tuple[Q | None, Q | None]:
        """Both conditions at once; the second is the first itself where all studies hide names.

        What is mostly short (the runs that wait in the person's studies) is looked up first and
        written into the condition, which stands several times in every query of runs.

        Args:
            only: the runs that will be asked about; of what waits, their kin alone matter then.
        """
        hides_names = _open_studies_of(user)
        if not hides_names:
            return None, None
        items = _waiting(user, hides_names)
        if only is not None:
            asked = Run.objects.filter(pk__among=only).order_by().values_list("pk", "family")
            items = items.filter(run__in=Run.objects.filter(_kin_of_runs(asked)).values("pk"))
        nameless = [study for study, hides in hides_names.items() if hides]
        # Asked first of all that waits, of which the rows of runs would be read for nothing.
        are_many = only is None and items.values("pk")[LOOKED_UP : LOOKED_UP + 1].exists()
        rows = items.values_list("study", "run", "run__family")
        found = [] if are_many else list(rows[: LOOKED_UP + 1])
        if are_many or len(found) > LOOKED_UP:
            blind = _repeats_one_of(items)
            anonymous = _repeats_one_of(items.filter(study__in=nameless))
        else:
            blind = _kin_of_runs((run, family) for _, run, family in found)
            anonymous = _kin_of_runs(
                (run, family) for study, run, family in found if study in nameless
            )
        if len(nameless) == len(hides_names):
            return blind, blind
        return blind, anonymous if nameless else None

    def blind_runs(self, user: User) -> QuerySet[Run] | None:
        """The runs for which `blind` holds, as a list that begins with what waits."""
        studies = _open_studies_of(user)
        if not studies:
            return None
        items = _waiting(user, studies)
        roots = items.values(root=Coalesce("run__family", "run"))
        kin = Run.objects.filter(family__in=roots).order_by().values("pk")
        return Run.objects.filter(pk__in=items.values("run").union(roots, kin)).order_by()

    def blind_tasks(self, user: User) -> set[int]:
        """The tasks of `blind_runs`.

        Asked of each of the three lists by itself: of all in one, the database takes so many for
        granted that it reads every run there is.
        """
        studies = _open_studies_of(user)
        if not studies:
            return set()
        items = _waiting(user, studies)
        roots = items.values(root=Coalesce("run__family", "run"))
        first = items.filter(run__family__isnull=False).values("run__family")
        kin = Run.objects.filter(family__in=roots).order_by()
        firsts = Run.objects.filter(pk__in=first).order_by()
        tasks = items.values_list("run__task", flat=True)
        return set(tasks.union(kin.values("task"), firsts.values("task")))


def _own_places(user: User) -> Iterator[tuple[str, QuerySet[Any]]]:
    """Where runs stand that a person opens for their own work: the path to the run, and rows.

    What was assigned to them, what they labelled elsewhere (an import brought the label), and what
    is in dispute or settled where they adjudicate; in studies of which they are part.
    """
    present = StudyMember.objects.filter(user=user, left_at=None)
    adjudicates = present.filter(part=StudyMember.Part.ADJUDICATOR).values("study")
    ours = {"item__study__in": present.values("study")}
    yield "item__run", Assignment.objects.filter(user=user, **ours).order_by()
    yield "item__run", Label.objects.filter(annotator=user, **ours).order_by()
    items = StudyItem.objects.filter(study__in=adjudicates).order_by()
    yield "run", items.exclude(status=StudyItem.Status.OPEN)


def visibility_while_labelling(assignment: Assignment, user: User) -> Visibility:
    """What the person sees of the one run that they are labelling.

    They are blinded to it, whatever else is so; and to its agent, where this study hides that.
    """
    run = assignment.item.run_id
    if not assignment.item.study.hides_identity:  # another study may
        return visibility_of(user, [run])
    every = Q()  # of the runs that are visible
    return Visibility(user, visible=Q(pk=run), blind=every, anonymous=every)


def _open_studies_of(user: User) -> dict[int, bool]:
    """The open studies in which the person has or had a part, and whether each hides names."""
    parts = user.study_parts.filter(study__is_open=True)
    return dict(parts.values_list("study", "study__hides_identity"))


def _waiting(user: User, studies: Iterable[int]) -> QuerySet[StudyItem]:
    """Items that are not settled, and settled ones that the person is labelling a second time."""
    again = Assignment.objects.filter(REPEATED_NOW, user=user, item=OuterRef("pk"))
    unsettled = ~Q(status=StudyItem.Status.SETTLED)
    return StudyItem.objects.filter(unsettled | Exists(again), study__in=studies).order_by()


def under_judgement() -> Q:
    """Runs to which anybody may be blinded: people still judge them, or others of their family."""
    again = Assignment.objects.filter(REPEATED_NOW, item=OuterRef("pk"))
    unfinished = ~Q(status=StudyItem.Status.SETTLED) | Exists(again)
    return _repeats_one_of(StudyItem.objects.filter(unfinished, study__is_open=True).order_by())


# Which runs repeat one another is one rule: their first one is the same, `Run.root`. It is asked
# in three ways, since each is out of the question where another is right. Written out, runs are
# looked up in an index (`_kin_of_runs`), but there must be few. Of many, rows that are read anyway
# are asked each for itself (`_repeats_one_of`): a list of the many would be made for every page of
# fifty. Whoever wants the many has the list made from what waits (`blind_runs`, `blind_tasks`):
# asked row by row, every run there is would be read. That they agree is tested on random worlds.


def _repeats_one_of(items: QuerySet[StudyItem], run: str = "pk", family: str = "family") -> Q:
    """The runs of the items, and all that repeat one of them or that one of them repeats.

    Through whatever chain: reruns of reruns, and other reruns of the same run. Asked row by row,
    of an index: what else a list is filtered by, the database looks at first.

    Args:
        run: where a row has the run, and where its family.
    """
    itself, first = OuterRef(run), OuterRef(family)
    # Two questions, since no index answers one about two tables.
    of_runs = items.filter(Q(run=itself) | Q(run=first))
    # A list and no join: without statistics, SQLite would join from all items of a study.
    of_either = Q(family=OuterRef(itself)) | Q(family=OuterRef(first))
    of_families = items.filter(run__in=Run.objects.filter(of_either).order_by().values("pk"))
    return Q(Exists(of_runs)) | Q(Exists(of_families))


def _kin_of_runs(runs: Iterable[tuple[UUID, UUID | None]]) -> Q:
    """The same of runs at hand, each with its family."""
    family_of = dict(runs)
    roots = {family or run for run, family in family_of.items()}
    if not roots:
        return Q(pk__in=())
    return Q(pk__among=sorted(roots | family_of.keys())) | Q(family__among=sorted(roots))


def items_with_open_labels(user: User) -> QuerySet[StudyItem]:
    """Items whose labels, all of them, the person may see.

    The labels are complete, and the person gave one of them, adjudicates the study, or may read
    audits; and no other open study waits for the person's own judgement of the same run. None does
    once all labels of a run that they labelled have arrived: they are not asked again. A label that
    an import brought in their name is none that they gave: no assignment stands behind it.
    """
    return _items_with_open_labels(user, _open_studies_of(user))


def _items_with_open_labels(user: User, studies: Iterable[int]) -> QuerySet[StudyItem]:
    present = StudyMember.objects.filter(user=user, left_at=None)
    gave_one = Label.objects.filter(item=OuterRef("pk"), annotator=user, is_repeat=False)
    of_annotators = Q(study__in=present.values("study")) & Exists(gave_one)
    of_adjudicators = Q(study__in=present.filter(part=StudyMember.Part.ADJUDICATOR).values("study"))
    allowed = of_annotators | of_adjudicators
    if user.has_perm("judging.view_audit"):
        allowed = Q()
    complete = StudyItem.objects.filter(allowed).exclude(status=StudyItem.Status.OPEN)
    return complete.exclude(_still_judges(user, studies))


def states_hidden_from(user: User) -> Q:
    """Items of which the person may not know whether their labels agree, as the state tells."""
    return ~Q(status=StudyItem.Status.OPEN) & still_judged_by(user)


def still_judged_by(user: User) -> Q:
    """Items whose run an open study asks the person to judge, in this study or another."""
    return _still_judges(user, _open_studies_of(user))


def _still_judges(user: User, studies: Iterable[int]) -> Q:
    """Items whose run an open study asks the person to judge, for the first or the second time."""
    if not studies:  # nothing can wait for them
        return Q(pk__in=())
    owed = StudyItem.objects.filter(
        run=OuterRef("run"),
        status=StudyItem.Status.OPEN,
        study__in=Study.objects.filter(
            is_open=True, members__user=user, members__part=StudyMember.Part.ANNOTATOR
        ).values("pk"),
    )
    # Asked of each item of the run: SQLite would go through all of the person's assignments.
    given = Assignment.objects.filter(
        user=user, is_repeat=False, state=Assignment.State.SUBMITTED, item=OuterRef("pk")
    )
    own_closed = StudyItem.objects.filter(Exists(given), run=OuterRef("run")).exclude(
        status=StudyItem.Status.OPEN
    )
    looking_again = Assignment.objects.filter(
        REPEATED_NOW, user=user, item__run=OuterRef("run"), item__study__is_open=True
    )
    return Q(Exists(owed)) & ~Q(Exists(own_closed)) | Q(Exists(looking_again))


def disputes_open_to(user: User) -> DisputeQuerySet:
    """Disputes that the person may open; decided ones only if they are not blinded to the run."""
    disputes, hidden = disputes_answered_by(user)
    return disputes.exclude(hidden)


def disputes_answered_by(user: User) -> tuple[DisputeQuerySet, Q]:
    """Disputes whose labels the person may see; and which of them, decided, they may not open."""
    studies = _open_studies_of(user)
    open_items = _items_with_open_labels(user, studies).filter(pk=OuterRef("item"))
    blinded = _is_blinded_to("item__run", user, studies)
    settled = Q(item__status=StudyItem.Status.SETTLED)
    return Dispute.objects.filter(Exists(open_items)), settled & blinded


def is_blinded_to(run: str, user: User) -> Q:
    """Whether the person is blinded to the run that a row leads to, asked row by row.

    Args:
        run: the path of the relation.
    """
    return _is_blinded_to(run, user, _open_studies_of(user))


def _is_blinded_to(run: str, user: User, studies: Iterable[int]) -> Q:
    if not studies:  # nothing can wait for them
        return Q(pk__in=())
    return _repeats_one_of(_waiting(user, studies), run, f"{run}__family")
