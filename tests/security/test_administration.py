"""Django's administration pages: nothing malformed in an address, a query or a form breaks them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.forms import BaseForm
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from runs.models import User
from tests.runs.factories import make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MALFORMED = (
    *("x", "", "-1", "1.5", "1e999", "nan", "9" * 30, str(2**63), str(2**31), "٣", "[]", "(", "\\"),
    *("\0", "é" * 300, "../..", "_00", "1,x", "True", str(uuid4()), f"{uuid4()}x", "' OR 1=1 --"),
)
DAYS = ("0001-01-01", "9999-12-31", "10000-01-01", "0000-00-00", "\0")
TIMES = ("00:00:00", "23:59:59", "24:00", "99999999999:0", "\0")
FEW = ("x", "\0", "9" * 30, str(2**63), "(")
REACHING = (*FEW, "-1", str(2**31), str(uuid4()))
"""Of each kind of value that conversion lets through to a database, and one that it refuses.

Conversion is alike before both databases, so PostgreSQL is asked for these alone.
"""
KEYS = MALFORMED if connection.vendor == "sqlite" else REACHING
MODELS = [model for model in apps.get_models() if admin.site.is_registered(model)]
ROUTE_PART = re.compile(r"<[^<>]*>")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="django")


@pytest.fixture
def root() -> User:
    """Somebody whom every page of the administration is open to."""
    person = make_user("admin", "root")
    person.is_superuser = person.is_staff = True
    person.save()
    # Every form that offers permissions draws all of them; a few stand for hundreds.
    Permission.objects.exclude(pk__in=Permission.objects.order_by("pk").values("pk")[:3]).delete()
    return person


@pytest.fixture
def client(root: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(root)
    return client


def broken(client: Client, tries: Iterable[tuple[str, dict[str, Any] | None]]) -> list[str]:
    """The tries that ended in an error of the server, as words."""
    found, answers = [], 0
    for path, data in tries:
        answers += 1
        answer = client.get(path) if data is None else client.post(path, data)
        if answer.status_code >= 500:
            found.append(f"{answer.status_code} {path} {data or ''}")
    assert answers, "nothing was tried"
    assert client.get("/admin/").status_code == 200, "who was looking was locked out meanwhile"
    return found


def routes() -> Iterator[str]:
    """The route of every page, `<…>` where its address holds a key."""

    def walk(patterns: Iterable[URLPattern | URLResolver], before: str) -> Iterator[str]:
        for pattern in patterns:
            route = before + re.sub(r"\(\?P(<\w+>)[^)]*\)", r"\1", str(pattern.pattern)).strip("^$")
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, route)
            else:
                yield route

    for resolver in get_resolver().url_patterns:
        if isinstance(resolver, URLResolver) and resolver.namespace == "admin":
            yield from walk(resolver.url_patterns, f"/{resolver.pattern}")


def filled(route: str, key: str) -> str:
    """The address with the key in each of its places."""
    return ROUTE_PART.sub(lambda _: quote(key, safe=""), route)


def each_kind(values: Iterable[Any], kind: Callable[[Any], object]) -> Iterable[Any]:
    """The first of the values of each kind: those alike are handled by the same code."""
    return {kind(value): value for value in reversed(list(values))}.values()


def pages_of(name: str) -> Iterator[tuple[ModelAdmin[Any], str]]:
    """Every registered model's page of that name."""
    for model in MODELS:
        page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}")
        yield admin.site.get_model_admin(model), page


def asked_by(person: User) -> HttpRequest:
    request = RequestFactory().get("/admin/")
    request.user = person
    return request


def test_no_key_in_an_address_breaks_it(client: Client) -> None:
    known = list(routes())
    assert len([route for route in known if "<" in route]) > len(MODELS)
    models = each_kind(apps.get_models(), lambda model: type(model._meta.pk))
    types = [str(ContentType.objects.get_for_model(model).pk) for model in models]
    paths = {filled(route, key) for route, key in product(known, KEYS)}
    paths |= {f"/admin/r/{a}/{quote(b, safe='')}/" for a, b in product(types, KEYS)}
    sent: tuple[dict[str, Any] | None, ...] = (None, {})
    tries = product(sorted(path for path in paths if "logout" not in path), sent)
    assert broken(client, tries) == []


def test_no_query_breaks_a_list(client: Client, root: User) -> None:
    asked = asked_by(root)

    def tries() -> Iterator[tuple[str, None]]:
        for place, (page, path) in enumerate(pages_of("changelist")):
            names = ["q", "o", "p", "all", "e", "_facets", "_popup", "_to_field", "ot"]
            # They are read by the same code of every list.
            values = FEW if place else KEYS
            for name, value in product([*names, "_changelist_filters"], values):
                yield f"{path}?{urlencode({name: value})}", None
            for field in each_kind(page.model._meta.get_fields(), type):
                lookups: Iterable[str] = getattr(field, "get_lookups", dict)()
                kinds = ["", *(f"__{name}" for name in lookups), "__id__exact", "__id__in"]
                for lookup in (field.name + kind for kind in kinds):
                    # What a page does not let anybody ask, it refuses whatever the value.
                    is_let = page.lookup_allowed(lookup, FEW[0], asked)
                    for value in FEW if is_let else FEW[:1]:
                        yield f"{path}?{urlencode({lookup: value})}", None

    assert broken(client, tries()) == []


def test_no_query_breaks_a_form_or_a_search(client: Client) -> None:
    def tries() -> Iterator[tuple[str, None]]:
        for page, path in pages_of("add"):
            options = page.model._meta
            for field, value in product(each_kind(options.get_fields(), type), FEW):
                yield f"{path}?{urlencode({field.name: value})}", None
                asked = {
                    "app_label": options.app_label,
                    "model_name": options.model_name,
                    "field_name": field.name,
                }
                for more in ({"term": value}, {"page": value}):
                    yield f"/admin/autocomplete/?{urlencode(asked | more)}", None

    assert broken(client, tries()) == []


def test_no_choice_of_rows_breaks_an_action(client: Client, root: User) -> None:
    asked = asked_by(root)

    def tries() -> Iterator[tuple[str, dict[str, Any]]]:
        for page, path in pages_of("changelist"):
            known = page.get_actions(asked)
            for action in [*known, "", "\0", "nothing"]:
                rows = {"action": action, ACTION_CHECKBOX_NAME: ["1"]}
                # An action that there is not is refused whatever rows are chosen.
                for value in KEYS if action in known else FEW:
                    for more in ({}, {"post": "yes"}):
                        yield path, {**rows, ACTION_CHECKBOX_NAME: [value], **more}
                    for name in ("select_across", "index"):
                        yield path, {**rows, name: value}
                yield path, {"action": action, ACTION_CHECKBOX_NAME: ["1", "x"]}

    assert broken(client, tries()) == []


def values_of(form: BaseForm) -> dict[str, Any]:
    """What a browser would send of an untouched form, by name of the control."""
    sent: dict[str, Any] = {}
    for bound in form:
        subs = getattr(bound.field.widget, "widgets", None)
        value = bound.value()
        if subs is not None:
            parts = bound.field.widget.decompress(value)
            sent |= {f"{bound.html_name}_{n}": part or "" for n, part in enumerate(parts)}
        elif isinstance(value, list):
            sent[bound.html_name] = [getattr(each, "pk", each) for each in value]
        elif value is not None and value is not False:
            sent[bound.html_name] = value
    return sent


def forms(client: Client) -> Iterator[tuple[str, dict[str, Any], dict[str, object]]]:
    """Every page with a form: its address, what it would send, and its controls with their kind."""
    paths = [path for _, path in pages_of("add")]
    for page, path in pages_of("changelist"):
        key = page.model.objects.latest("pk").pk  # not who is looking
        paths += [f"{path}{key}/{rest}/" for rest in ("change", "delete", "password")]
    for path in paths:
        answer = client.get(path)
        context = answer.context or {}
        found = context.get("adminform") or context.get("form")
        if found is not None:
            form = getattr(found, "form", found)
            sent = values_of(form)
            names = {*sent, *(bound.html_name for bound in form)}
            yield path, sent, {name: kind_of(form, name) for name in names}


def kind_of(form: BaseForm, control: str) -> tuple[type, str]:
    """The kind of the control's field, and which of its parts it is if it has several."""
    part = "" if control in form.fields else control[-2:]
    return type(form.fields[control.removesuffix(part)]), part


def test_no_value_breaks_a_form(client: Client) -> None:
    Group.objects.create(name="nobody")
    make_user("annotator", "ann")
    seen = list(forms(client))
    assert len(seen) >= 2 * len(MODELS)
    controls = {name for *_, names in seen for name in names}
    assert {"permissions", "user_permissions", "groups", "date_joined_0"} <= controls

    def tries() -> Iterator[tuple[str, dict[str, Any]]]:
        for path, sent, names in seen:
            controls = each_kind(sorted(names), names.get)
            for name in (*controls, "_save", "_continue", "_addanother", "_popup", "_to_field"):
                for value in FEW:
                    yield path, sent | {name: value}

    assert broken(client, tries()) == []


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def test_no_day_at_the_end_of_the_calendar_breaks_a_form(client: Client, settings, zone) -> None:
    settings.TIME_ZONE = zone
    make_user("annotator", "ann")
    tries = [
        (path, sent | {f"{name}_0": day, f"{name}_1": time})
        for path, sent, names in forms(client)
        for name in {name[:-2] for name in names if name.endswith("_0")}
        for day, time in (*zip(DAYS, TIMES, strict=True), ("9999-12-31", "23:59:59"))
    ]
    assert broken(client, tries) == []


def test_nobody_breaks_the_log_in(client: Client) -> None:
    visitor = Client(raise_request_exception=False)
    for name, word in product(FEW, FEW):
        answer = visitor.post("/admin/login/?next=\0", {"username": name, "password": word})
        assert answer.status_code == 200


def test_malformed_input_is_told_in_words_and_changes_nothing(client: Client) -> None:
    group = Group.objects.create(name="nobody")
    for keys in (["x", group.pk], ["9" * 30, "x"]):
        chosen = {"action": "delete_selected", ACTION_CHECKBOX_NAME: keys, "post": "yes"}
        answer = client.post("/admin/auth/group/", chosen)
        assert answer.status_code == 400
        assert "Nothing was saved" in answer.content.decode()
    sent = {"name": "renamed", "permissions": "9" * 30}
    assert client.post(f"/admin/auth/group/{group.pk}/change/", sent).status_code in (200, 400)
    group.refresh_from_db()
    assert group.name == "nobody"
    run = make_run(pictures=False)
    kind = ContentType.objects.get_for_model(run).pk
    for key in ("x", run.pk):
        assert client.get(f"/admin/r/{kind}/{key}/").status_code == 404


def test_a_list_is_still_narrowed_by_its_filters(client: Client) -> None:
    group = Group.objects.create(name="nobody")
    member = make_user("annotator", "ann")
    member.groups.add(group)
    for query in (f"groups__id__exact={group.pk}", "is_staff__exact=0", "is_active__exact=1&q=ann"):
        answer = client.get(f"/admin/runs/user/?{query}")
        assert answer.status_code == 200
        assert list(answer.context["cl"].queryset) == [member]
    assert client.get("/admin/runs/user/?username__regex=(a%2B)%2B$").status_code == 400
