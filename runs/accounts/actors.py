"""Who is acting now: the person of the request, or the command, for the audit log."""

from __future__ import annotations

import getpass
import ipaddress
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest

    from runs.models import User

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
"""What is taken for the id that a proxy gave a request; anything else is replaced."""


@dataclass(frozen=True, slots=True)
class Acting:
    """A request, a command or a worker at work.

    The person is read from the request when it is asked for: whoever logs in is nobody at first.
    """

    request: HttpRequest | None = None
    request_id: str = ""
    via: str = field(default="worker")
    name: str = ""
    kinds: list[str] = field(default_factory=list, compare=False)
    """Of the entries written while a request was answered."""

    @property
    def user(self) -> User | None:
        user = getattr(self.request, "user", None)
        return user if user is not None and user.is_authenticated else None

    @property
    def address(self) -> str | None:
        return client_address(self.request) if self.request else None

    @property
    def by_way_of(self) -> str:
        """`page`, `command NAME`, `worker`, or what the request's authentication says of itself."""
        return getattr(self.request, "acts_via", "") or self.via


_NOW: ContextVar[Acting] = ContextVar("acting", default=Acting())  # noqa: B039 (it is frozen)


def acting() -> Acting:
    """Who is acting; a worker where nobody said otherwise."""
    return _NOW.get()


@contextmanager
def acting_as(now: Acting) -> Iterator[Acting]:
    """Inside, this is who acts."""
    token = _NOW.set(now)
    try:
        yield now
    finally:
        _NOW.reset(token)


def of_request(request: HttpRequest) -> Acting:
    """A request, with the id that a proxy gave it, or a new one."""
    given = request.META.get("HTTP_X_REQUEST_ID", "")
    known = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
    return Acting(request=request, request_id=known, via="page")


def of_command(arguments: Sequence[str]) -> Acting:
    """`manage.py NAME`, by the person whom the operating system knows."""
    name = arguments[1] if len(arguments) > 1 else ""
    try:
        person = getpass.getuser()
    except (OSError, KeyError):  # a container without a name for its user
        person = ""
    return Acting(via=f"command {name}"[:40], name=person)


def client_address(request: HttpRequest) -> str | None:
    """Where the request came from, as far as that can be trusted; None where it is unknown.

    Every reverse proxy of ours appends the address that it was called from. Whatever stands
    before those entries was sent by the visitor, and says nothing.
    """
    given = request.META.get("REMOTE_ADDR", "")
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if settings.PROXIES and forwarded:
        hops = [part.strip() for part in forwarded.split(",")]
        given = hops[-settings.PROXIES] if len(hops) >= settings.PROXIES else given
    return _address(given)


@lru_cache(maxsize=1024)
def _address(given: str) -> str | None:
    try:
        return str(ipaddress.ip_address(given))
    except ValueError:
        return None
