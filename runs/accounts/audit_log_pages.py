"""The audit log: a page of it with filters, the whole as a file, and what the viewer may read."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import Q
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_safe

from runs.accounts.audit_log import record_entry
from runs.interface.requests import AppRequest, needs
from runs.interface.words import escape_formula
from runs.models import AuditEntry, User
from runs.models.audit_log import KINDS, LOG_DOWNLOADED, AuditEntryQuerySet
from runs.models.parsing import read_number
from runs.models.visibility import run_policy
from webagent.trajectory.values import is_of_a_calendar

PER_PAGE = 100
DOWNLOADED = 100_000
"""So many entries one download holds; `manage.py export_audit_log` has no end."""


COLUMNS = {
    "id": "id",
    "at": "at",
    "who": "name",
    "did": "kind",
    "via": "via",
    "address": "address",
    "request_id": "request_id",
    "about": "about_kind",
    "about_id": "about_id",
    "words": "words",
    "before": "before",
    "after": "after",
}
"""Of a file, each with the field of the entry that it holds."""
DETAILS = ("words", "before", "after")
CHANGES, LOG_INS, ALL = "changes", "log-ins", "all"
TABS = [(CHANGES, _("Changes")), (LOG_INS, _("Log-ins")), (ALL, _("all"))]
Row = dict[str, Any]


class AuditLogFilter(forms.Form):
    """Which entries: by person, kind, object and time. What makes no sense filters nothing.

    A chosen kind goes before `show`, which is the open tab.
    """

    show = forms.ChoiceField(choices=TABS, required=False, widget=forms.HiddenInput)
    who = forms.CharField(label=_("Person"), max_length=150, required=False)
    did = forms.ChoiceField(label=_("action"), required=False)
    about = forms.CharField(label=_("target"), max_length=40, required=False)
    about_id = forms.CharField(label=_("target ID"), max_length=64, required=False)
    since = forms.DateField(
        label=pgettext_lazy("a day", "from"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
    )
    until = forms.DateField(
        label=pgettext_lazy("a day", "to"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they came
        kinds = sorted(KINDS.values(), key=lambda kind: kind.name)
        choices = [("", _("all")), *((kind.name, kind.words) for kind in kinds)]
        self.fields["did"].choices = choices  # type: ignore[attr-defined]  # a ChoiceField

    @property
    def are_log_ins(self) -> bool:
        """Whether only log-ins are asked for."""
        self.is_valid()
        return self.cleaned_data.get("show") == LOG_INS and not self.cleaned_data.get("did")

    def chosen(self, viewer: User) -> AuditEntryQuerySet:
        """The entries asked for, of those that the viewer may know of; the newest first."""
        self.is_valid()
        # No zone has the midnights at the ends of the calendar.
        wanted = {
            name: value
            for name, value in self.cleaned_data.items()
            if value and (not isinstance(value, date) or is_of_a_calendar(value))
        }
        entries: AuditEntryQuerySet = AuditEntry.objects.all()
        if not reads_details(viewer):
            blinded = [kind.name for kind in KINDS.values() if kind.is_blinded]
            if wanted.get("did") in blinded:  # found by an index, where the other way reads all
                entries = entries.filter(user=viewer)
            else:
                entries = entries.exclude(~Q(user=viewer), kind__in=blinded)
        if who := wanted.get("who"):
            # The person's entries under whatever name they had; names of commands are only names.
            users = list(User.objects.filter(username=who).values_list("pk", flat=True))
            entries = entries.filter(user__in=users) if users else entries.filter(name=who)
        if "did" not in wanted and wanted.get("show") == CHANGES:
            entries = entries.exclude(kind__in=_log_in_kinds())
        if self.are_log_ins:
            entries = entries.filter(kind__in=_log_in_kinds())
        for name, column in (("did", "kind"), ("about", "about_kind"), ("about_id", "about_id")):
            if name in wanted:
                entries = entries.filter(**{column: wanted[name].strip()})
        if since := wanted.get("since"):
            entries = entries.filter(at__gte=_midnight(since))
        if until := wanted.get("until"):
            entries = entries.filter(at__lt=_midnight(until) + timedelta(days=1)).latest_first()
        return entries


def _log_in_kinds() -> list[str]:
    return [kind.name for kind in KINDS.values() if kind.is_log_in]


def _midnight(day: object) -> datetime:
    return timezone.make_aware(datetime.fromisoformat(f"{day}T00:00"))


def reads_details(user: User) -> bool:
    """Whether words and changes are shown: not to whoever is blinded to any run.

    What entries are about may reveal the agent: that is often in the name of an experiment.
    """
    return run_policy().blind(user) is None


def shown(entries: Iterable[AuditEntry], *, with_details: bool) -> Iterator[Row]:
    """The entries as rows of a file, with words only where they may be read."""
    for entry in entries:
        row: Row = {column: getattr(entry, field) for column, field in COLUMNS.items()}
        row |= {"at": entry.at.isoformat(timespec="seconds"), "address": entry.address or ""}
        yield row if with_details else row | dict.fromkeys(DETAILS, "")


def as_csv(rows: Iterable[Row]) -> Iterator[str]:
    """The rows as CSV, a line at a time, under a line of names."""
    yield _csv_line(list(COLUMNS))
    for row in rows:
        yield _csv_line([escape_formula(str(value)) for value in row.values()])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def as_jsonl(rows: Iterable[Row]) -> Iterator[str]:
    """The rows as JSON, one object a line."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"


WRITERS = {"csv": as_csv, "jsonl": as_jsonl}
"""By the ending of the file's name."""


def page_context(query: Mapping[str, str], viewer: User) -> dict[str, object]:
    """One page of the log: entries older than `before`, and the way to the next."""
    query = {"show": CHANGES, **query}
    form = AuditLogFilter(query)
    with_details = reads_details(viewer)
    oldest = read_number(query.get("before", ""))
    found = _newest(form.chosen(viewer), oldest, _log_in_kinds() if form.are_log_ins else ())
    entries = found[:PER_PAGE]
    asked = {name: value for name, value in query.items() if value and name != "before"}
    return {
        "form": form,
        "entries": entries,
        "with_details": with_details,
        "is_first": oldest is None,
        "is_filtered": asked.keys() - {"show"},
        "tabs": TABS,
        "tab": "" if query.get("did") else query["show"],
        "asked": urlencode(asked),
        "older": urlencode({**asked, "before": entries[-1].pk}) if len(found) > PER_PAGE else "",
    }


def _newest(
    chosen: AuditEntryQuerySet, oldest: int | None, kinds: Iterable[str]
) -> list[AuditEntry]:
    """The entries of a page and one more; of several kinds, each read in the order of its index."""
    parts = [chosen.filter(kind=kind) for kind in kinds] or [chosen]
    found = [entry for part in parts for entry in part.before(oldest)[: PER_PAGE + 1]]
    if len(parts) > 1:
        by_time = bool(chosen.query.order_by)
        found.sort(key=lambda each: (each.at if by_time else each.pk, each.pk), reverse=True)
    return found[: PER_PAGE + 1]


CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}

may_read_audit_log = needs("runs.read_acts")


@require_safe
@may_read_audit_log
def audit_log(request: AppRequest) -> HttpResponse:
    """Who did what, the newest first, by person, kind, object and time."""
    return render(
        request, "runs/accounts/audit_log.html", page_context(request.GET.dict(), request.user)
    )


@require_safe
@may_read_audit_log
def audit_log_file(request: AppRequest, ending: str) -> HttpResponseBase:
    """The entries that the filters choose, as CSV or JSONL."""
    entries = AuditLogFilter(request.GET).chosen(request.user)[:DOWNLOADED]
    rows = list(shown(entries.iterator(), with_details=reads_details(request.user)))
    record_entry(LOG_DOWNLOADED, after=f"{len(rows)} entries, {ending}")
    answer = StreamingHttpResponse(WRITERS[ending](rows), content_type=CONTENT_TYPES[ending])
    answer["Content-Disposition"] = f'attachment; filename="acts.{ending}"'
    answer["Cache-Control"] = "private, no-store"
    return answer
