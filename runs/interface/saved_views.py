"""Saved views of lists: filters and order under a name, one's own or shared."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from runs.interface.lists import ListPage, back_to_list, list_named, sent_from
from runs.interface.requests import AppRequest, wants_partial
from runs.models.people import SavedView

ALL = "all"
"""In the address: no filter, though the person has a default view."""
PAGES = (ALL, "page", "after", "before", "count")
MOST = 50


class ViewForm(forms.Form):
    """A name for what the table shows now."""

    name = forms.CharField(max_length=100)
    query = forms.CharField(max_length=2000, required=False)
    is_shared = forms.BooleanField(required=False)

    def clean_query(self) -> str:
        return query_of(self.cleaned_data["query"])


def default_address(request: AppRequest, listed: ListPage) -> str:
    """Where the list is that the person wants it to open with; empty where it is this one."""
    own = None if request.GET or wants_partial(request) else _default_view(request, listed)
    return f"{request.path}?{own.query}" if own and own.query else ""


def list_context(request: AppRequest, listed: ListPage) -> dict[str, Any]:
    """What the page of a list shows beside its table: its views and columns."""
    partial = wants_partial(request)
    has_default = request.user.preferences.get(listed.opens_with) is not None
    return {
        "list": listed,
        "list_layout": "part.html" if partial else "list.html",
        "columns": [] if partial else listed.column_choices(request.user),
        "views": [] if partial else _view_choices(request, listed),
        "all_url": f"{listed.url}?{ALL}=1" if has_default else listed.url,
    }


def _default_view(request: AppRequest, listed: ListPage) -> SavedView | None:
    key = request.user.preferences.get(listed.opens_with)
    if not isinstance(key, int):
        return None
    return SavedView.objects.offered_to(request.user, listed.name).filter(pk=key).first()


def _view_choices(request: AppRequest, listed: ListPage) -> list[dict[str, Any]]:
    """The views that the person may open, and which of them is."""
    user, now = request.user, query_of(request.GET.urlencode())
    default = user.preferences.get(listed.opens_with)
    return [
        {
            "view": view,
            "is_open": view.query == now,
            "is_own": view.owner_id == user.pk,
            "is_default": view.pk == default,
        }
        for view in SavedView.objects.offered_to(user, listed.name)[:MOST]
    ]


def query_of(address: str) -> str:
    """Filters and order of an address without the page that is open, in one order."""
    query = QueryDict(address, mutable=True)
    for name in PAGES:
        query.pop(name, None)
    ordered = QueryDict(mutable=True)
    for name in sorted(query):
        ordered.setlist(name, query.getlist(name))
    return ordered.urlencode()


@require_POST
def view_save(request: AppRequest) -> HttpResponse:
    """Keep what the table shows; under a name of one's own that exists, in its place."""
    listed, form = sent_from(request), ViewForm(request.POST)
    own = SavedView.objects.filter(owner=request.user, list_name=listed.name)
    if not form.is_valid():
        wrong = ", ".join(str(error) for errors in form.errors.values() for error in errors)
        messages.error(request, _("Not saved: %(why)s") % {"why": wrong})
    elif own.count() >= MOST and not own.filter(name=form.cleaned_data["name"]).exists():
        messages.error(request, _("You have %(n)d views. Delete one first.") % {"n": MOST})
    else:
        may_share = request.user.has_perm("runs.view_run")
        is_shared = form.cleaned_data["is_shared"] and may_share
        shown = {"query": form.cleaned_data["query"], "is_shared": is_shared}
        key = {"list_name": listed.name, "name": form.cleaned_data["name"]}
        SavedView.objects.update_or_create(owner=request.user, **key, defaults=shown)
        messages.success(request, _("Saved."))
    return back_to_list(request, listed)


@require_POST
def view_delete(request: AppRequest, pk: int) -> HttpResponse:
    """Forget a view of one's own."""
    view = get_object_or_404(request.user.saved_views, pk=pk)
    view.delete()
    return back_to_list(request, list_named(view.list_name))


@require_POST
def view_default(request: AppRequest, pk: int) -> HttpResponse:
    """Open the table with this view from now on; with none if it was the default."""
    view = get_object_or_404(SavedView.objects.offered_to(request.user), pk=pk)
    listed = list_named(view.list_name)
    was = request.user.preferences.get(listed.opens_with) == view.pk
    request.user.preferences[listed.opens_with] = None if was else view.pk
    request.user.save(update_fields=["preferences"])
    return back_to_list(request, listed)
