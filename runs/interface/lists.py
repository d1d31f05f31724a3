"""Lists whose columns a person chooses and whose views they save; each is declared where it is."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import get_script_prefix, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from runs.interface.requests import AppRequest
from runs.models import User


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


def list_named(name: str) -> ListPage:
    """The list of that name.

    Raises:
        Http404: there is none.
    """
    try:
        return _lists[name]
    except KeyError:
        raise Http404 from None


def sent_from(request: AppRequest) -> ListPage:
    """The list that a form was sent from; that of runs where it names none."""
    return list_named(request.POST.get("list", "run"))


def back_to_list(request: AppRequest, listed: ListPage) -> HttpResponse:
    """The table as it was."""
    back = request.POST.get("next", "")
    # A bare word would be taken for the name of a view, which there may not be.
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None) or not back.startswith("/"):
        back = listed.url
    return redirect(back)


@require_POST
def list_columns(request: AppRequest) -> HttpResponse:
    """Keep which columns this person wants, and go back to the table as it was."""
    listed = sent_from(request)
    known = listed.columns()
    chosen = [name for name in request.POST.getlist("column") if name in known]
    request.user.preferences[listed.chosen_as] = chosen
    request.user.save(update_fields=["preferences"])
    return back_to_list(request, listed)


def row_address(name: str, key: UUID | int) -> str:
    """The address of a row's own page: made once for all rows, of which it takes a good share."""
    any_key = UUID(int=0) if isinstance(key, UUID) else 0
    start, end = _around_key(name, any_key, get_script_prefix())
    return f"{start}{key}{end}"


@cache
def _around_key(name: str, any_key: UUID | int, _prefix: str) -> tuple[str, str]:
    start, _, end = reverse(name, args=[any_key]).rpartition(str(any_key))
    return start, end
