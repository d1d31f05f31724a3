"""What always holds of studies' runs, labels, reference verdicts and evaluations; and what every
`migrate` makes hold again.
"""

from collections.abc import Callable, Iterator
from string import Formatter
from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from judging.models import (
    Assignment,
    Dispute,
    DisputeMessage,
    Evaluation,
    EvaluationBatch,
    EvaluationBatchItem,
    EvaluatorVersion,
    Label,
    ReferenceVerdict,
    StudyItem,
    StudyMember,
    Success,
)
from judging.models.evaluations import SETTLED
from judging.studies.disputes.services import CLEAR
from judging.studies.imported import IMPORTED
from runs.models import LeasedWork
from runs.models.extension import Invariant, number_of
from webagent.measures import batched

Status, State = StudyItem.Status, Assignment.State
Verdict, Origin = Evaluation.Verdict, ReferenceVerdict.Origin
HAS_VERDICT = Q(Exists(ReferenceVerdict.objects.filter(item=OuterRef("pk"))))
HAS_DISPUTE = Q(Exists(Dispute.objects.filter(item=OuterRef("pk"))))
DISPUTED_ENDS = (Origin.CONSENSUS, Origin.ADJUDICATED)
COUNTERS = sum((F(f"n_{verdict}") for verdict in Verdict.values), F("n_already"))


def _none_of(broken: Callable[[], QuerySet[Any]], why: str) -> Invariant:
    """That there are no such rows; with them is read what the words name in braces."""
    told = tuple(name for _text, name, *_ in Formatter().parse(why) if name)
    return Invariant(broken, why, told)


def _never(model: type[models.Model]) -> Callable[[Q, str], Invariant]:
    """Makes invariants of the rows of a model: of a condition, and what is wrong with such rows."""
    return lambda condition, why: _none_of(lambda: model._default_manager.filter(condition), why)


_no_item = _never(StudyItem)
_no_assignment = _never(Assignment)
_no_verdict = _never(ReferenceVerdict)
_no_evaluation = _never(Evaluation)


# None where an older version, at work during an upgrade, stored it: lists allow for that.
DATED_OTHERWISE = Q(run_created_at__isnull=False) & ~Q(run_created_at=F("run__created_at"))
NOT_DATED_AS_RUN = "it is not dated as its run is: `migrate` does that anew"


def items() -> Iterator[Invariant]:
    """What holds of a run in a study. That it is in each once, the database itself keeps."""
    yield _no_item(DATED_OTHERWISE, NOT_DATED_AS_RUN)
    yield _no_item(~Q(status__in=Status.values), "state {status} is none")
    first_looks = Label.objects.independent()
    yield _none_of(
        lambda: StudyItem.objects.annotate(rows=number_of(first_looks, "item")).exclude(
            rows=F("n_labels")
        ),
        "n_labels is {n_labels}, and it has {rows}",
    )
    yield _no_item(
        Q(n_labels__gt=F("study__labels_per_run")),
        "it has {n_labels} labels of {study__labels_per_run}",
    )
    # A file may hold verdicts without labels, and labels without verdicts.
    complete = Q(n_labels__gte=F("study__labels_per_run"))
    ours = ~Q(study__run_filter__has_key=IMPORTED)
    yield _no_item(
        ours & complete & Q(status=Status.OPEN), "all its labels are there, and it is open"
    )
    yield _no_item(
        ours & ~complete & ~Q(status=Status.OPEN), "it is {status} before all labels are there"
    )
    yield _no_item(Q(status=Status.SETTLED) & ~HAS_VERDICT, "it is settled without a verdict")
    yield _no_item(~Q(status=Status.SETTLED) & HAS_VERDICT, "it is {status} and has a verdict")
    yield _no_item(Q(status=Status.DISPUTED) & ~HAS_DISPUTE, "it is disputed without a dispute")
    yield _no_item(Q(status=Status.OPEN) & HAS_DISPUTE, "it is open and has a dispute")


def labels() -> Iterator[Invariant]:
    """What holds of labels and assignments.

    That a person has one of each on a run, and one more as a hidden repeat, the database keeps.
    """
    yield _none_of(
        lambda: Label.objects.exclude(success__in=Success.values), "{success} is no verdict"
    )
    # Labels that came with a file were given elsewhere.
    given = Label.objects.exclude(item__study__run_filter__has_key=IMPORTED)
    yield _none_of(
        lambda: given.exclude(_same(Assignment.objects.filter(state=State.SUBMITTED), "annotator")),
        "no submitted assignment stands behind it",
    )
    members = StudyMember.objects.filter(study=OuterRef("item__study"), user=OuterRef("annotator"))
    yield _none_of(
        lambda: Label.objects.exclude(Exists(members)), "whoever gave it was never in its study"
    )
    first = Label.objects.independent().filter(
        item=OuterRef("item"), annotator=OuterRef("annotator")
    )
    yield _none_of(
        lambda: given.filter(is_repeat=True).exclude(Exists(first)), "it repeats no label"
    )
    yield from _assignments()


def _assignments() -> Iterator[Invariant]:
    has_label = _same(Label.objects.all(), "user")
    yield _no_assignment(~Q(state__in=State.values), "state {state} is none")
    yield _no_assignment(Q(state=State.SUBMITTED) & ~has_label, "it is submitted without a label")
    yield _no_assignment(~Q(state=State.SUBMITTED) & has_label, "it is {state} and has a label")
    yield _no_assignment(
        Q(state=State.SKIPPED) & (Q(skipped_at=None) | Q(n_skips=0)),
        "it is skipped, and nobody noted when or how often",
    )
    yield _no_assignment(Q(seconds__lt=0), "it took less than no time")
    members = StudyMember.objects.filter(study=OuterRef("item__study"), user=OuterRef("user"))
    yield _no_assignment(~Q(Exists(members)), "whoever has it was never in its study")


def _same(rows: QuerySet[Any], person: str) -> Q:
    """Whether there is one on the same item, by the same person, of the same look."""
    by = "user" if rows.model is Assignment else "annotator"
    return Q(
        Exists(
            rows.filter(
                **{by: OuterRef(person)}, item=OuterRef("item"), is_repeat=OuterRef("is_repeat")
            )
        )
    )


def verdicts() -> Iterator[Invariant]:
    """What holds of a reference verdict.

    That a run has one at most in a study, and one authoritative one at most in all, the database
    itself keeps.
    """
    rows = ReferenceVerdict.objects
    yield _no_verdict(~Q(verdict__in=ReferenceVerdict.Verdict.values), "{verdict} is no verdict")
    yield _no_verdict(~Q(origin__in=Origin.values), "origin {origin} is none")
    yield _no_verdict(~Q(run=F("item__run")), "it is of another run than its place in the study")
    yield _no_verdict(DATED_OTHERWISE, NOT_DATED_AS_RUN)
    # What came with a file stands as it was decided elsewhere.
    decided = Q(record={})
    yield _no_verdict(
        decided & Q(origin=Origin.IMPORTED), "it is imported, and nothing says from what"
    )
    agreed = decided & Q(origin=Origin.AGREED)
    labels = Label.objects.independent().filter(item=OuterRef("item"))
    differing = Q(Exists(labels.exclude(success=OuterRef("verdict"))))
    yield _no_verdict(agreed & differing, "all are said to agree on {verdict}, and a label differs")
    yield _no_verdict(
        agreed & ~Q(verdict__in=CLEAR), "{verdict} cannot stand without a decision upon it"
    )
    dispute = Dispute.objects.filter(item=OuterRef("item"))
    yield _no_verdict(agreed & Q(Exists(dispute)), "all are said to agree, and there is a dispute")
    ended = decided & Q(origin__in=DISPUTED_ENDS)
    yield _no_verdict(
        ended & ~Q(Exists(dispute.filter(version__gt=0))), "{origin} without a dispute that ended"
    )
    yield _no_verdict(ended & Q(decided_by=None), "{origin}, and nobody noted by whom")
    last = DisputeMessage.objects.filter(
        dispute__item=OuterRef("item"), author=OuterRef("annotator")
    ).exclude(proposal="")
    proposed = Coalesce(
        Subquery(last.order_by("-created_at", "-id").values("proposal")[:1]),
        Value(""),
        output_field=CharField(),
    )
    apart = labels.annotate(proposed=proposed).exclude(proposed=OuterRef("verdict"))
    yield _none_of(
        lambda: rows.filter(decided, origin=Origin.CONSENSUS).filter(Exists(apart)),
        "consensus on {verdict}, which is not everybody's last proposal",
    )


def evaluations() -> Iterator[Invariant]:
    """What holds of an evaluation.

    That one evaluator has one current evaluation of a run at most, the database itself keeps.
    """
    yield _no_evaluation(~Q(verdict__in=Verdict.values), "{verdict} is no verdict")
    # Other tools may say both.
    ours = ~Q(record__has_key="evaluator")
    without = Q(verdict=Verdict.ERROR)
    # The score of progress measures how far a run got, also where some milestones are unknown.
    scored = Q(score__isnull=False) & ~Q(evaluator__kind=EvaluatorVersion.Kind.MILESTONES)
    yield _no_evaluation(ours & without & scored, "it has no verdict, and a score")
    yield _no_evaluation(ours & without & Q(reason=""), "it has no verdict, and nothing says why")
    yield _no_evaluation(
        ours & Q(verdict__in=SETTLED) & ~Q(reason=""), "{verdict}, and it says why not"
    )


def batch_counters() -> Iterator[Invariant]:
    """What holds of a batch. Its items and evaluations go with their run, its counters stay."""
    batches = EvaluationBatch.objects.all()
    items = EvaluationBatchItem.objects.all()
    done = number_of(items.filter(is_done=True), "batch")
    yield _none_of(
        lambda: batches.exclude(n_done=COUNTERS),
        "n_done is {n_done}, which its counters of verdicts do not add up to",
    )
    yield _none_of(
        lambda: batches.annotate(rows=done).filter(rows__gt=F("n_done")),
        "n_done is {n_done}, and {rows} of its runs are done",
    )
    yield _none_of(
        lambda: batches.filter(n_total__lt=F("n_done")), "n_done is {n_done} of {n_total}"
    )
    yield _none_of(
        lambda: batches.filter(
            state=LeasedWork.State.FINISHED, pk__in=items.filter(is_done=False).values("batch")
        ),
        "it has finished before all its runs are done",
    )
    for verdict in Verdict.values:
        counter = f"n_{verdict}"
        found = number_of(Evaluation.objects.filter(verdict=verdict), "batch")
        differs = Q(rows__gt=F(counter)) | ~Q(rows=F(counter)) & Q(done=F("n_done"))
        yield _none_of(
            lambda found=found, differs=differs: (  # type: ignore[misc] # bound defaults have no type
                batches.annotate(rows=found, done=done).filter(differs)
            ),
            f"{counter} is {{{counter}}}, and {{rows}} of its evaluations say so",
        )


def invariants() -> Iterator[Invariant]:
    """What holds of studies' runs, labels, reference verdicts and evaluations."""
    yield from items()
    yield from labels()
    yield from verdicts()
    yield from evaluations()
    yield from batch_counters()


KEEP_AGES = "ReferenceVerdict", "StudyItem"
"""Rows that keep their run's `created_at`, so that lists of runs are read in order without runs."""
AT_ONCE = 2_000
"""Rows that are changed in one transaction, so that nobody waits long for one of them."""


def date_rows(using: str = "default", apps: Apps = current_apps, **_options: Any) -> None:
    """Give each verdict and item its run's `created_at` where it has another or none.

    Called after every `migrate`: an older version, at work beside this one, stores none.

    Args:
        apps: the models as the database has them; of before there were any ages, too.
    """
    for name in KEEP_AGES:
        try:
            model: Any = apps.get_model("judging", name)
            model._meta.get_field("run_created_at")
        except (LookupError, FieldDoesNotExist):
            continue
        _date(model.objects.using(using), apps.get_model("runs", "Run").objects.using(using))


def _date(rows: Any, runs: Any) -> None:
    wrong = rows.exclude(run_created_at=F("run__created_at")).order_by()
    created_at = runs.filter(pk=OuterRef("run")).order_by().values("created_at")
    keys = list(wrong.values_list("pk", flat=True))
    for some in batched(keys, AT_ONCE):
        rows.filter(pk__in=some).update(run_created_at=Subquery(created_at))
