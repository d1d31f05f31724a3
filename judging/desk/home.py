"""The home page: what waits for a person, and what changed since they were here last."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.models import (
    Dispute,
    DisputeMessage,
    Label,
    ReferenceVerdict,
    Study,
    StudyItem,
    StudyMember,
    Unblinding,
)
from judging.models.labels import DisputeQuerySet
from judging.studies.access import AUDIT, studies_hidden_from
from judging.studies.disputes.pages import overruled_labels
from judging.studies.disputes.tables import own_disputes
from judging.studies.labels.pages import progress_of_each
from judging.studies.pages import StudyRow, listed_studies, study_rows
from judging.studies.tables import StudyTable
from runs.interface.paging import RowCount
from runs.interface.requests import AppRequest, wants_partial
from runs.launching.reruns.pages import Result, results_of
from runs.models import ImportJob, Run, User
from runs.models.visibility import visibility_of
from runs.operations.health.checks import neglected

VISIT = timedelta(minutes=30)
FEW = 5
MOST_COUNTED = 1_000
"""Of what is new; beyond, the page says that there are more."""
MOST_RERUNS = 50
"""So many of the newest reruns are held against what they repeat."""
GOAL = (
    *("item__run", "item__run__goal", "item__run__task"),
    *("item__run__task__goal", "item__run__task__external_id"),
)
STUDIES = 50


@dataclass(frozen=True, slots=True)
class DisputeToDecide:
    """A dispute that waits for the person's decision.

    Attributes:
        verdicts: what its labels say, sorted; None as long as the person has not opened it.
    """

    dispute: Dispute
    verdicts: list[str] | None


@require_safe
@vary_on_headers("HX-Request")
def home(request: AppRequest) -> HttpResponse:
    """What waits for the person, and what has moved since.

    The page itself asks for a part: which work no worker takes. It takes as long as all the rest.
    """
    if wants_partial(request):
        queues = sorted(neglected()) if request.user.has_perm("runs.rerun_run") else []
        return render(request, "judging/desk/_neglected.html", {"queues": queues})
    return render(request, "judging/desk/home.html", _context(request.user))


def _context(user: User) -> dict[str, Any]:
    """Everything of the home page."""
    since = begin_visit(user, timezone.now())
    studies = list(listed_studies(user)[: STUDIES + 1])
    annotated = Study.objects.of(user, StudyMember.Part.ANNOTATOR)
    to_label = list(annotated.filter(is_open=True).order_by("-created_at"))
    closed = annotated.filter(pk__in=[each.pk for each in studies[:STUDIES] if not each.is_open])
    own = progress_of_each([*to_label, *closed], user)
    disputes = own_disputes(user)
    rows = study_rows(user, studies[:STUDIES], own)
    return {
        "rows": rows,
        "table": StudyTable.of(rows, user),
        "has_more_studies": len(studies) > STUDIES,
        "waiting": _waiting_disputes(user, disputes)
        | {"to_label": [(study, own[study.pk]) for study in to_label if own[study.pk].left]},
        "news": _news(user, since, disputes),
        "people": _waiting_for_people(rows),
        "allows_demo": settings.ALLOWS_DEMO,
        "has_runs": user.has_perm("runs.view_run") and Run.objects.exists(),
    }


def _waiting_for_people(rows: Iterable[StudyRow]) -> dict[str, int]:
    """How many runs of open studies wait for labels, and how many for an adjudicator."""
    counts = [row.counts for row in rows if row.counts and row.study.is_open]
    return {
        name: sum(each[status].number for each in counts)
        for name, status in (
            ("n_to_label", StudyItem.Status.OPEN),
            ("n_disputed", StudyItem.Status.DISPUTED),
        )
    }


def begin_visit(user: User, now: datetime) -> datetime | None:
    """When the person was here before this visit; a visit ends after half an hour without one."""
    seen = user.preferences.get("home", {})
    last = _moment(seen.get("last"))
    before = _moment(seen.get("before"))
    if last is not None and now - last > VISIT:
        before = last
    user.preferences["home"] = {
        "last": now.isoformat(),
        "before": before.isoformat() if before else None,
    }
    user.save(update_fields=["preferences"])
    return before


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _waiting_disputes(user: User, own: DisputeQuerySet) -> dict[str, Any]:
    """How many of their disputes the person should decide, and which first; how many discuss."""
    judged = Q(item__study__in=Study.objects.of(user, StudyMember.Part.ADJUDICATOR).values("pk"))
    to_decide = Count("pk", filter=judged)
    found = own.waiting().order_by().aggregate(n=Count("pk"), n_to_decide=to_decide)
    n = found["n_to_decide"]
    return {
        "n_to_decide": n,
        "to_decide": _oldest(user, own.waiting().filter(judged)) if n else [],
        "n_to_discuss": found["n"] - n,
    }


def _oldest(user: User, disputes: DisputeQuerySet) -> list[DisputeToDecide]:
    """The few that have waited longest.

    What labels say is shown to who has opened the dispute: that is when their seeing it is noted.
    """
    has_seen = Unblinding.objects.filter(user=user, item=OuterRef("item"))
    labels: QuerySet[Any] = (
        Label.objects.independent()
        .filter(item__dispute__in=disputes.values("pk")[:FEW])
        .select_related("item__dispute", "item__run__task")
        .only("success", "item", "item__dispute__opened_at", *GOAL)
        .annotate(has_seen=Exists(has_seen))
        .order_by("item__dispute__opened_at", "item__dispute", "success")
    )
    found: dict[int, DisputeToDecide] = {}
    for label in labels:
        dispute = label.item.dispute
        dispute.item = label.item
        row = found.setdefault(dispute.pk, DisputeToDecide(dispute, [] if label.has_seen else None))
        if row.verdicts is not None:
            row.verdicts.append(label.success)
    return list(found.values())


def _news(user: User, since: datetime | None, own: DisputeQuerySet) -> dict[str, Any]:
    """What changed since the last visit; counts only of what the person may open."""
    after = (since or timezone.now() - timedelta(days=7)).replace(microsecond=0)
    # What is new first: of each that is left the database asks whether the person may open it.
    comments = DisputeMessage.objects.filter(
        Exists(own.filter(pk=OuterRef("dispute"))),
        dispute__item__status=StudyItem.Status.DISPUTED,
        created_at__gt=after,
    )
    decided = ReferenceVerdict.objects.filter(decided_at__gt=after).order_by().values("item")
    ended = Run.objects.ended().filter(created_by=user, ended_at__gt=after)
    imports = ImportJob.objects.filter(created_by=user, ended_at__gt=after)
    overruled = list(overruled_labels(user, decided)[:FEW])
    told = {label.item_id for label in overruled}
    latest = own.decided().for_list().filter(item__in=decided).exclude(item__in=told)[:FEW]
    news: dict[str, Any] = {
        "opened": list(own.waiting().for_list().filter(opened_at__gt=after)[:FEW]),
        "decided": list(latest),
        "messages": list(
            comments.exclude(author=user).select_related("dispute__item__run__task")[:FEW]
        ),
        "overruled": overruled,
        "n_runs_ended": ended.count(),
        "n_imports_ended": imports.count(),
        "n_runs_added": _runs_added(user, after) if user.has_perm("runs.view_run") else None,
        "settled": _runs_settled(user, after) if user.has_perm(AUDIT) else None,
        "worse": list(_worse_reruns(user, after)) if user.has_perm("runs.rerun_run") else [],
    }
    address = urlencode({"added_after": f"{after.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"})
    return news | {"is_empty": not any(news.values()), "since": since, "added_query": address}


def _worse_reruns(user: User, after: datetime) -> Iterator[tuple[Run, UUID]]:
    """Reruns of the person that ended worse than the run they repeat, with that run."""
    ended = Run.objects.filter(
        created_by=user, rerun_of__isnull=False, ended_at__gt=after, superseded=False
    )
    if not (keys := list(ended.order_by("-ended_at").values_list("pk", flat=True)[:MOST_RERUNS])):
        return
    visibility = visibility_of(user)
    runs = list(
        Run.objects.visible_with(visibility).named(visibility).for_list().filter(pk__in=keys)
    )
    found = results_of(runs, user)
    worse = (run for run in runs if run.pk in found and found[run.pk].result is Result.WORSE)
    for run in islice(worse, FEW):
        yield run, found[run.pk].original


def _runs_added(user: User, after: datetime) -> RowCount | None:
    """Runs that came, counted by the index of their age as far as the page says; None for none."""
    runs = Run.objects.filter(visibility_of(user).visible, superseded=False, created_at__gt=after)
    listed = runs.not_archived().order_by("-created_at", "-pk")
    return _counted(len(listed.values_list("pk")[: MOST_COUNTED + 1]))


def _runs_settled(user: User, after: datetime) -> tuple[RowCount, int | None] | None:
    """The same of runs that got a reference verdict, with their study where it is one alone.

    The newest of these are looked through.
    """
    verdicts = ReferenceVerdict.objects.filter(is_authoritative=True).order_by("-pk")
    newest = verdicts.values_list("item__study", "decided_at")[: MOST_COUNTED + 1]
    studies = [study for study, at in newest if at > after]
    hidden = set(studies_hidden_from(user).filter(pk__among=studies).values_list("pk", flat=True))
    known = [study for study in studies if study not in hidden]
    count = _counted(len(known))
    return (count, known[0] if len(set(known)) == 1 else None) if count else None


def _counted(found: int) -> RowCount | None:
    is_more = found > MOST_COUNTED
    return RowCount(MOST_COUNTED if is_more else found, is_more=is_more) if found else None
