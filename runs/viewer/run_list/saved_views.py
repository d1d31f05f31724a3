"""Saved views of the runs table: filters and order under a name, one's own or shared."""

from __future__ import annotations

from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from runs.interface.fragments import AppRequest
from runs.models import User
from runs.models.people import SavedView

ALL = "all"
"""In the address: no filter, though the person has a default view."""
PAGES = (ALL, "page", "after", "before", "count")
MOST = 50
PREFERENCE = "run_view"


class ViewChoice(NamedTuple):
    """A view in the menu."""

    view: SavedView
    is_open: bool
    is_own: bool
    is_default: bool


class ViewForm(forms.Form):
    """A name for what the table shows now."""

    name = forms.CharField(max_length=100)
    query = forms.CharField(max_length=2000, required=False)
    is_shared = forms.BooleanField(required=False)

    def clean_query(self) -> str:
        return query_of(self.cleaned_data["query"])


def default_view(user: User) -> SavedView | None:
    """What the person wants the table to open with."""
    key = user.preferences.get(PREFERENCE)
    if not isinstance(key, int):
        return None
    return SavedView.objects.offered_to(user).filter(pk=key).first()


def view_choices(request: AppRequest) -> list[ViewChoice]:
    """The views that the person may open, and which of them is."""
    now, default = query_of(request.GET.urlencode()), request.user.preferences.get(PREFERENCE)
    return [
        ViewChoice(view, view.query == now, view.owner_id == request.user.pk, view.pk == default)
        for view in SavedView.objects.offered_to(request.user)[:MOST]
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


def back_to_list(request: AppRequest) -> HttpResponse:
    """The table as it was."""
    back = request.POST.get("next", "")
    # A bare word would be taken for the name of a view, which there may not be.
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None) or not back.startswith("/"):
        back = reverse("runs:run_list")
    return redirect(back)


@require_POST
def view_save(request: AppRequest) -> HttpResponse:
    """Keep what the table shows; under a name of one's own that exists, in its place."""
    form, own = ViewForm(request.POST), SavedView.objects.filter(owner=request.user)
    if not form.is_valid():
        wrong = ", ".join(str(error) for errors in form.errors.values() for error in errors)
        messages.error(request, _("The view was not saved: %(wrong)s") % {"wrong": wrong})
    elif own.count() >= MOST and not own.filter(name=form.cleaned_data["name"]).exists():
        messages.error(request, _("You have %(n)d views. Delete one first.") % {"n": MOST})
    else:
        shown = {key: form.cleaned_data[key] for key in ("query", "is_shared")}
        name = form.cleaned_data["name"]
        SavedView.objects.update_or_create(owner=request.user, name=name, defaults=shown)
        messages.success(request, _("View saved"))
    return back_to_list(request)


@require_POST
def view_delete(request: AppRequest, pk: int) -> HttpResponse:
    """Forget a view of one's own."""
    get_object_or_404(request.user.saved_views, pk=pk).delete()
    messages.success(request, _("View deleted"))
    return back_to_list(request)


@require_POST
def view_default(request: AppRequest, pk: int) -> HttpResponse:
    """Open the table with this view from now on; with none if it was the default."""
    view = get_object_or_404(SavedView.objects.offered_to(request.user), pk=pk)
    was = request.user.preferences.get(PREFERENCE) == view.pk
    request.user.preferences[PREFERENCE] = None if was else view.pk
    request.user.save(update_fields=["preferences"])
    return back_to_list(request)
