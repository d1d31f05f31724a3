"""Lists whose columns a person chooses and whose views they save; each is declared where it is.

A saved view is filters and order under a name, one's own or shared.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import get_script_prefix, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from runs.interface.requests import AppRequest, wants_partial
from runs.models import User
from runs.models.people import SavedView

ALL = "all"
"""In the address: no filter, though the person has a default view."""
PAGES = (ALL, "page", "after", "before", "count")
MOST = 50


@dataclass(frozen=True, slots=True)
class ListPage:
    """A list with saved views and columns to choose.

    Attributes:
        name: what stored views and preferences call it.
        address: the name of its page's address.
        columns: gives the columns that may be shown or not, with their words, in their order.
        first: those that are shown to who has chosen none, in this order before all others; all
            columns where it is empty.
        hides: gives the columns that this person is neither offered nor shown.
    """

    name: str
    address: str
    columns: Callable[[], Mapping[str, Any]]
    first: tuple[str, ...] = ()
    hides: Callable[[User], Collection[str]] = lambda _user: ()

    @property
    def url(self) -> str:
        return reverse(self.address)

    @property
    def chosen_as(self) -> str:
        """The preference that holds a person's columns."""
        return f"{self.name}_columns"

    @property
    def opens_with(self) -> str:
        """The preference that holds a person's default view."""
        return f"{self.name}_view"

    def chosen_columns(self, user: User) -> list[str]:
        """The columns this person wants, in the table's order."""
        return self._chosen(user, self._offered(user))

    def _chosen(self, user: User, known: Mapping[str, Any]) -> list[str]:
        wanted = user.preferences.get(self.chosen_as, self.first or known)
        first = [name for name in self.first if name in known]
        return [name for name in dict.fromkeys((*first, *known)) if name in wanted]

    def left_out(self, user: User) -> list[str]:
        """The columns this person does without."""
        chosen = self.chosen_columns(user)
        return [name for name in self.columns() if name not in chosen]

    def column_choices(self, user: User) -> list[dict[str, Any]]:
        """All columns, and whether the person wants them."""
        offered = self._offered(user)
        chosen = self._chosen(user, offered)
        return [
            {"name": name, "words": words, "is_chosen": name in chosen}
            for name, words in offered.items()
        ]

    def _offered(self, user: User) -> dict[str, Any]:
        hidden = self.hides(user)
        return {name: words for name, words in self.columns().items() if name not in hidden}


def columns_of(table: type[Any], *always: str) -> Callable[[], Mapping[str, Any]]:
    """The columns of a table, with their words, but for those that it always shows."""

    def columns() -> Mapping[str, Any]:
        named = table.base_columns.items()
        return {name: column.verbose_name for name, column in named if name not in always}

    return columns


_lists: dict[str, ListPage] = {}


def declared(listed: ListPage) -> ListPage:
    """The list, known by its name from now on."""
    _lists[listed.name] = listed
    return listed


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
def list_columns(request: AppRequest) -> HttpResponse:
    """Keep which columns this person wants, and go back to the table as it was."""
    listed = _sent_from(request)
    known = listed.columns()
    chosen = [name for name in request.POST.getlist("column") if name in known]
    request.user.preferences[listed.chosen_as] = chosen
    request.user.save(update_fields=["preferences"])
    return _back_to_list(request, listed)


class ViewForm(forms.Form):
    """A name for what the table shows now."""

    name = forms.CharField(max_length=100)
    query = forms.CharField(max_length=2000, required=False)
    is_shared = forms.BooleanField(required=False)

    def clean_query(self) -> str:
        return query_of(self.cleaned_data["query"])


@require_POST
def view_save(request: AppRequest) -> HttpResponse:
    """Keep what the table shows; under a name of one's own that exists, in its place."""
    listed, form = _sent_from(request), ViewForm(request.POST)
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
    return _back_to_list(request, listed)


@require_POST
def view_delete(request: AppRequest, pk: int) -> HttpResponse:
    """Forget a view of one's own."""
    view = get_object_or_404(request.user.saved_views, pk=pk)
    view.delete()
    return _back_to_list(request, _list_named(view.list_name))


@require_POST
def view_default(request: AppRequest, pk: int) -> HttpResponse:
    """Open the table with this view from now on; with none if it was the default."""
    view = get_object_or_404(SavedView.objects.offered_to(request.user), pk=pk)
    listed = _list_named(view.list_name)
    was = request.user.preferences.get(listed.opens_with) == view.pk
    request.user.preferences[listed.opens_with] = None if was else view.pk
    request.user.save(update_fields=["preferences"])
    return _back_to_list(request, listed)


def _list_named(name: str) -> ListPage:
    """The list of that name.

    Raises:
        Http404: there is none.
    """
    try:
        return _lists[name]
    except KeyError:
        raise Http404 from None


def _sent_from(request: AppRequest) -> ListPage:
    """The list that a form was sent from; that of runs where it names none."""
    return _list_named(request.POST.get("list", "run"))


def _back_to_list(request: AppRequest, listed: ListPage) -> HttpResponse:
    """The table as it was."""
    back = request.POST.get("next", "")
    # A bare word would be taken for the name of a view, which there may not be.
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None) or not back.startswith("/"):
        back = listed.url
    return redirect(back)


def row_address(name: str, key: UUID | int) -> str:
    """The address of a row's own page: made once for all rows, of which it takes a good share."""
    any_key = UUID(int=0) if isinstance(key, UUID) else 0
    start, end = _around_key(name, any_key, get_script_prefix())
    return f"{start}{key}{end}"


@cache
def _around_key(name: str, any_key: UUID | int, _prefix: str) -> tuple[str, str]:
    start, _, end = reverse(name, args=[any_key]).rpartition(str(any_key))
    return start, end
