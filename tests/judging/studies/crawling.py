"""Visiting the addresses of the site as one person, and what they answer without its noise."""

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest

from django.conf import settings
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.test import Client

from runs.models import User
from tests.judging.studies.blind_world import World
from tests.judging.studies.statements import (
    Statement,
    asked_of_database,
    replies_to,
    told_apart,
    undone,
)
from tests.judging.studies.url_cases import CASES, Visit
from tests.runs.factories import client_of

WAYS: dict[str, dict[str, str]] = {"page": {}, "fragment": {"HX-Request": "true"}}

FILES = (".csv", ".json", ".jsonl", ".md", ".tex", ".svg", ".zip")
"""No part of a page is a file."""

REFUSALS = {401, 403, 405}

TABLES = re.compile(r'(?:FROM|JOIN|INTO|UPDATE) "(\w+)"')
OF_ACCOUNTS = {
    *(model._meta.db_table for model in (Session, User, Group, Permission, ContentType)),
    *(User.groups.through._meta.db_table, User.user_permissions.through._meta.db_table),
    Group.permissions.through._meta.db_table,
}
"""Tables that say who somebody is and what they may do."""


def log_in(user: User) -> str:
    """The key of a session of theirs."""
    client = client_of(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@dataclass(frozen=True)
class Answer:
    """What a visit was answered with, of which nothing stayed.

    Attributes:
        content: the whole answer, without its noise.
        replies: what tells the rows that the database found for it apart from others.
        ask: makes the visit again.
    """

    content: bytes
    statements: list[Statement]
    replies: bytes | None
    ask: Callable[[], HttpResponseBase]

    def difference_now(self) -> str:
        """How it is answered otherwise now, or the database is asked otherwise; "" if neither is.

        Where only rows changed since, and the database replies to every statement with the same
        rows as before, byte for byte, the page is not made once more: it follows from them.
        """
        if self.replies is not None and replies_to(self.statements) == self.replies:
            return ""
        _, now = answer_to(self.ask)
        lines = zip_longest(self.content.splitlines(), now.content.splitlines(), fillvalue=b"")
        for one, other in lines:
            if one != other:
                return f"{one[:500]!r} or {other[:500]!r}"
        asked = [told_apart(each.statements) for each in (self, now)]
        return "" if asked[0] == asked[1] else f"{asked[0][0]} or {asked[1][0]} statements"


def answer_to(ask: Callable[[], HttpResponseBase]) -> tuple[HttpResponseBase, Answer]:
    with undone(), asked_of_database() as statements:
        response = ask()
        content = whole_answer(response)
    return response, Answer(content, statements, replies_to(statements), ask)


def changed(answers: dict[str, Answer]) -> dict[str, str]:
    """The visits that are answered otherwise now, and how."""
    found = {asked: answer.difference_now() for asked, answer in answers.items()}
    return {asked: difference for asked, difference in found.items() if difference}


def answers(
    world: World, viewer: str, only: str = "", session: str = "", most: int | None = None
) -> Iterator[tuple[str, Answer]]:
    """Every visit as the viewer: what was asked, and the answer.

    Of each address `most` visits are made, all without it.

    An address is visited first as page and as fragment, unless nobody asked which, then in turn;
    with a query as fragment, a file as page. What is refused by who they are alone, whatever it is
    about, is asked once.
    """
    client = Client()
    session = session or log_in(getattr(world, viewer))
    refused: set[tuple[str, bool]] = set()
    for name, visit, ways in _all_visits(world, only, most):
        method = name, visit.data is None
        if method in refused:
            continue
        for way in ways:
            response, answer = answer_to(partial(_ask, client, session, visit, WAYS[way]))
            yield f"{name} {way} {_asked(visit)}", answer
            if response.status_code in REFUSALS and _read_accounts_alone(answer.statements):
                refused.add(method)
            if not _depends_on_way(response):
                break


def _ask(client: Client, session: str, visit: Visit, headers: dict[str, str]) -> HttpResponseBase:
    client.cookies.clear()  # the visit to the log-out page, above all
    client.cookies[settings.SESSION_COOKIE_NAME] = session
    return respond(client, visit, headers)


def _read_accounts_alone(statements: list[Statement]) -> bool:
    """Whether the answer follows from who asks and what they may do, and from nothing else here."""
    read = [set(TABLES.findall(each.text)) for each in statements]
    return all(tables and tables <= OF_ACCOUNTS for tables in read)


def _all_visits(
    world: World, only: str, most: int | None
) -> Iterator[tuple[str, Visit, list[str]]]:
    for name, fill in CASES.items():
        if name.startswith(only):
            for place, visit in enumerate(islice(fill(world), most)):
                yield name, visit, _ways(visit, place)


def _depends_on_way(response: HttpResponseBase) -> bool:
    """Whether a fragment could be answered otherwise: somebody asked, or they were logged out."""
    request = response.wsgi_request  # type: ignore[attr-defined]
    return hasattr(request, "asks_for_fragments") or response.status_code == 302


def _ways(visit: Visit, place: int) -> list[str]:
    """How the visit is made; after the first one of an address both ways take turns."""
    if visit.path.endswith(FILES):
        return ["page"]
    if "?" in visit.path:
        return ["fragment"]
    return list(WAYS) if place == 0 else [list(WAYS)[place % 2]]


def _asked(visit: Visit) -> str:
    return f"{'GET' if visit.data is None else 'POST'} {visit.path}"


def respond(client: Client, visit: Visit, headers: dict[str, str]) -> HttpResponseBase:
    """The answer to the visit; anything but an error of the server."""
    sent = {**headers, **visit.headers}
    if visit.data is None:
        response = client.get(visit.path, headers=sent)
    else:
        response = client.post(visit.path, visit.data, headers=sent)
    assert response.status_code != 500, visit
    return response


def whole_answer(response: HttpResponseBase) -> bytes:
    """Status, headers and body without noise; of an archive, what is in it."""
    if isinstance(response, StreamingHttpResponse):
        body = b"".join(bytes(part) for part in response)
    else:
        body = response.content  # type: ignore[attr-defined]
    if body.startswith(b"PK"):
        body = b"".join(_members(body))
    headers = "\n".join(f"{key}: {value}" for key, value in sorted(response.items()))
    return NOISE.sub(b"", f"{response.status_code}\n{headers}\n\n".encode() + body)


def _members(archive: bytes) -> Iterable[bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as unpacked:
        for name in sorted(unpacked.namelist()):
            yield name.encode() + b"\n" + unpacked.read(name)


NOISE = re.compile(
    rb'(?:csrfmiddlewaretoken" value="|X-CSRFToken": ?"|X-CSRFToken&quot;: ?&quot;)[A-Za-z0-9]{64}'
    rb"|^Expires: .*$|^X-Request-ID: .*$"
    rb'|name="key" value="[0-9a-f-]{36}"|name="token" value="[^"]+"|name="seed" value="\d+"',
    re.MULTILINE,
)
"""What differs between answers by itself: hour, number of the request, tokens, keys, new seeds."""
