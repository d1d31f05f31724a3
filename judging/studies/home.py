"""What waits for a person, and what changed since their last visit."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from judging.models import DisputeMessage, Study, StudyItem, StudyMember
from judging.studies.disputes.pages import overruled_labels, own_disputes
from judging.studies.pages import listed_studies, study_rows
from judging.studies.queue.progress import progress_of_each
from runs.models import ImportJob, Run, RunStatus, User

VISIT = timedelta(minutes=30)
FEW = 5
STUDIES = 50


def home_context(user: User) -> dict[str, Any]:
    """Everything of the home page."""
    since = begin_visit(user, timezone.now())
    studies = list(listed_studies(user)[: STUDIES + 1])
    return {
        "rows": study_rows(user, studies[:STUDIES]),
        "has_more_studies": len(studies) > STUDIES,
        "waiting": _waiting(user),
        "news": _news(user, since),
        "n_active": _active_runs(user).count(),
        "has_runs": user.has_perm("runs.view_run") and Run.objects.exists(),
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


def _waiting(user: User) -> dict[str, Any]:
    """What a person should do next."""
    disputes = own_disputes(user).waiting().for_list()
    to_decide = disputes.filter(
        item__study__in=Study.objects.of(user, StudyMember.Part.ADJUDICATOR).values("pk")
    )
    n_disputes, n_to_decide = disputes.count(), to_decide.count()
    annotated = Study.objects.of(user, StudyMember.Part.ANNOTATOR).filter(is_open=True)
    studies = list(annotated.order_by("-created_at"))
    own = progress_of_each(studies, user)
    return {
        "to_label": [(study, own[study.pk]) for study in studies if own[study.pk].left],
        "n_to_decide": n_to_decide,
        "n_to_discuss": n_disputes - n_to_decide,
    }


def _news(user: User, since: datetime | None) -> dict[str, Any]:
    """What changed since the last visit; counts only of what the person may open."""
    after = since or timezone.now() - timedelta(days=7)
    own = own_disputes(user)
    comments = DisputeMessage.objects.filter(
        dispute__in=own.values("pk"),
        dispute__item__status=StudyItem.Status.DISPUTED,
        created_at__gt=after,
    )
    ended = Run.objects.filter(created_by=user, status__in=RunStatus.ended(), ended_at__gt=after)
    imports = ImportJob.objects.filter(created_by=user, ended_at__gt=after)
    news: dict[str, Any] = {
        "opened": list(own.waiting().for_list().filter(opened_at__gt=after)[:FEW]),
        "decided": list(own.decided().for_list().filter(item__verdict__decided_at__gt=after)[:FEW]),
        "messages": list(
            comments.exclude(author=user).select_related("dispute__item__run__task")[:FEW]
        ),
        "overruled": list(overruled_labels(user).filter(item__verdict__decided_at__gt=after)[:FEW]),
        "n_runs_ended": ended.count(),
        "n_imports_ended": imports.count(),
    }
    return news | {"is_empty": not any(news.values()), "since": since}


def _active_runs(user: User) -> QuerySet[Run]:
    if not user.has_perm("runs.view_run"):
        return Run.objects.none()
    return Run.objects.filter(status__in=RunStatus.active())
